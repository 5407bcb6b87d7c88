#include "server/session/documents/convert.h"

#include <random>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::session;
using protocol::Encoding;
using protocol::LineIndex;

namespace {

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces{"a", "x = 1", "é", "漢", "😀", "\n", "\r\n", "\r", "\t"};
  std::string text;
  for (auto n = random() % 30; n > 0; --n) text += kPieces[random() % kPieces.size()];
  return text;
}

}  // namespace

TEST_CASE("source places and client places are inverse, lone carriage returns included") {
  const auto seed = GENERATE(take(50, random(0, 1'000'000)));
  CAPTURE(seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string text = random_text(random);
  const LineIndex index(text);
  for (const Encoding encoding : {Encoding::utf8, Encoding::utf16, Encoding::utf32}) {
    const Places places(text, index, encoding);
    source::Position here;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const bool inside = i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
      const bool in_crlf = i > 0 && i < text.size() && text[i - 1] == '\r' && text[i] == '\n';
      if (!inside && !in_crlf) REQUIRE(places.to_source(places.to_client(here)) == here);
      if (i < text.size()) here = text[i] == '\n' ? source::Position{here.line + 1, 0} : source::Position{here.line, here.column + 1};
    }
  }
}

TEST_CASE("a place beyond the text is its end") {
  const std::string text = "ab\ncd";
  const LineIndex index(text);
  const Places places(text, index, Encoding::utf16);
  CHECK(places.to_client(source::Position{7, 0}) == protocol::Position{1, 2});
  CHECK(places.to_client(source::Position{0, 99}) == protocol::Position{1, 2});
  CHECK(places.to_source({9, 9}) == source::Position{1, 2});
}

TEST_CASE("the edit between two texts turns one into the other and never cuts a character") {
  const auto seed = GENERATE(take(200, random(0, 1'000'000)));
  CAPTURE(seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string before = random_text(random);
  std::string after = before;
  if (random() % 4 == 0) {
    after = random_text(random);
  } else {
    std::size_t at = random() % (before.size() + 1);
    while (at < before.size() && (static_cast<unsigned char>(before[at]) & 0xC0U) == 0x80U) --at;
    after.insert(at, random_text(random));
  }
  const auto edit = edit_between(before, after);
  REQUIRE(edit.has_value() == (before != after));
  if (!edit) return;
  const std::string rebuilt = before.substr(0, edit->start_byte) + after.substr(edit->start_byte, edit->new_end_byte - edit->start_byte) +
                              before.substr(edit->old_end_byte);
  CHECK(rebuilt == after);
  const auto at_boundary = [](const std::string& text, std::size_t at) {
    return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
  };
  CHECK((at_boundary(before, edit->start_byte) && at_boundary(before, edit->old_end_byte) && at_boundary(after, edit->new_end_byte)));
  const auto position = [](const std::string& text, std::size_t offset) {
    const auto last = text.rfind('\n', offset == 0 ? 0 : offset - 1);
    const bool on_first = last == std::string::npos || last >= offset;
    return source::Position{static_cast<std::uint32_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n')),
                            static_cast<std::uint32_t>(on_first ? offset : offset - last - 1)};
  };
  CHECK(edit->start == position(before, edit->start_byte));
  CHECK(edit->old_end == position(before, edit->old_end_byte));
  CHECK(edit->new_end == position(after, edit->new_end_byte));
}
