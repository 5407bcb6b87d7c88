#include "protocol/text.h"

#include <random>

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  const LineIndex index(text);
  std::vector<std::string> lines;
  for (std::size_t line = 0; line < index.lines(); ++line) lines.emplace_back(line_text(text, index, line));
  return lines;
}

// The slow truth: units before `offset` on its line, one code point at a time.
Position naive_position(std::string_view text, std::size_t offset, Encoding encoding) {
  Position position;
  for (std::size_t i = 0; i < offset;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t size = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    const bool ends_line = text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
    if (ends_line) {
      position = {position.line + 1, 0};
    } else if (text[i] != '\r') {
      position.character += encoding == Encoding::utf8                 ? static_cast<std::uint32_t>(size)
                            : encoding == Encoding::utf16 && size == 4 ? 2U
                                                                       : 1U;
    }
    i += size;
  }
  return position;
}

std::vector<std::size_t> boundaries(std::string_view text) {  // between characters; not inside \r\n
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool inside = i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
    const bool in_crlf = i > 0 && i < text.size() && text[i - 1] == '\r' && text[i] == '\n';
    if (!inside && !in_crlf) offsets.push_back(i);
  }
  return offsets;
}

const std::vector<std::string> kPieces{"a", "b = 1", "é", "漢", "😀", "e\u0301", "\t", "\n", "\r\n", "\r", "\n\r", "", "x\ny\nz"};

std::string random_text(std::mt19937& random, std::size_t pieces) {
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % kPieces.size()];
  return text;
}

}  // namespace

TEST_CASE("lines end at \\n, \\r\\n and a lone \\r") {
  CHECK(lines_of("") == std::vector<std::string>{""});
  CHECK(lines_of("a") == std::vector<std::string>{"a"});
  CHECK(lines_of("a\nb\r\nc\rd") == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(lines_of("a\n") == std::vector<std::string>{"a", ""});
  CHECK(lines_of("\r\r\n\n") == std::vector<std::string>{"", "", "", ""});
}

TEST_CASE("one logical position has its column in each encoding") {
  const std::string text = "x\né漢😀e\u0301\tz\r\n";
  const LineIndex index(text);
  const std::size_t z = text.find('z');
  CHECK(position_at(text, index, z, Encoding::utf8) == Position{1, 13});
  CHECK(position_at(text, index, z, Encoding::utf16) == Position{1, 7});
  CHECK(position_at(text, index, z, Encoding::utf32) == Position{1, 6});
  CHECK(offset_at(text, index, {1, 13}, Encoding::utf8) == z);
  CHECK(offset_at(text, index, {1, 7}, Encoding::utf16) == z);
  CHECK(offset_at(text, index, {1, 6}, Encoding::utf32) == z);
}

TEST_CASE("positions that do not exist are clamped") {
  const std::string text = "ab\r\n😀c";
  const LineIndex index(text);
  for (const Encoding encoding : {Encoding::utf8, Encoding::utf16, Encoding::utf32}) {
    CHECK(offset_at(text, index, {0, 99}, encoding) == 2);  // before the line's end mark
    CHECK(offset_at(text, index, {9, 0}, encoding) == text.size());
    CHECK(offset_at(text, index, {1, 0x7fffffff}, encoding) == text.size());
    CHECK(offset_at(text, index, {1, 0}, encoding) == 4);
  }
  CHECK(offset_at(text, index, {1, 1}, Encoding::utf16) == 4);  // inside the pair: its start
  CHECK(offset_at(text, index, {1, 3}, Encoding::utf8) == 4);   // inside the sequence: its start
}

TEST_CASE("positions and offsets are inverse at every character of random texts") {
  const auto seed = GENERATE(take(30, random(0, 1'000'000)));
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string text = random_text(random, 40);
  const LineIndex index(text);
  CAPTURE(seed);
  for (const Encoding encoding : {Encoding::utf8, Encoding::utf16, Encoding::utf32}) {
    for (const std::size_t offset : boundaries(text)) {
      const Position position = position_at(text, index, offset, encoding);
      REQUIRE(position == naive_position(text, offset, encoding));
      REQUIRE(offset_at(text, index, position, encoding) == offset);
    }
  }
}

TEST_CASE("100,000 random edits leave the same text and index as a full rebuild") {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  CAPTURE(seed);
  std::string text, expected;
  LineIndex index(text);
  for (int i = 0; i < 100'000; ++i) {
    const Encoding encoding = static_cast<Encoding>(random() % 3);
    const std::vector<std::size_t> offsets = boundaries(expected);
    std::size_t start = offsets[random() % offsets.size()], end = offsets[random() % offsets.size()];
    if (end < start) std::swap(start, end);
    if (expected.size() < 200) end = std::min(end, start + 3);  // let it grow
    while (end < expected.size() && !std::ranges::binary_search(offsets, end)) ++end;
    const std::string insert = random_text(random, random() % 4);
    const Range range{naive_position(expected, start, encoding), naive_position(expected, end, encoding)};
    const bool whole = random() % 500 == 0;
    REQUIRE(apply_change(text, index, whole ? std::nullopt : std::optional(range), insert, encoding));
    if (whole) {
      expected = insert;
    } else {
      expected.replace(start, end - start, insert);
    }
    REQUIRE(text == expected);
    REQUIRE(index == LineIndex(expected));
  }
}

TEST_CASE("a reversed range or one beyond the text changes nothing") {
  std::string text = "a\nb";
  LineIndex index(text);
  CHECK_FALSE(apply_change(text, index, Range{{1, 0}, {0, 0}}, "x", Encoding::utf16));
  CHECK_FALSE(apply_change(text, index, Range{{3, 0}, {3, 0}}, "x", Encoding::utf16));
  CHECK(text == "a\nb");
  CHECK(apply_change(text, index, Range{{0, 0}, {2, 0}}, "x", Encoding::utf16));  // one line past the end: the end
  CHECK(text == "x");
}
