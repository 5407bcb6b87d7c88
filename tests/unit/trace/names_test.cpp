#include "annotator/trace/names.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace hotlens::trace;

TEST_CASE("the same text has the same id, also after the table grew") {
  Names names;
  const NameId first = names.intern("aten::add");
  for (int i = 0; i < 5000; ++i) names.intern("name " + std::to_string(i));
  CHECK(names.intern("aten::add") == first);
  CHECK(names.size() == 5001);
  CHECK(names[first] == "aten::add");
  CHECK(names.find("name 4999").has_value());
  CHECK_FALSE(names.find("name 5000").has_value());
}

TEST_CASE("an empty text and a text with a zero byte are texts like others") {
  Names names;
  CHECK_FALSE(names.find("").has_value());
  const NameId empty = names.intern("");
  const NameId zero = names.intern(std::string_view("\0", 1));
  CHECK(empty != zero);
  CHECK(names[zero].size() == 1);
}

TEST_CASE("texts of every length are told apart by each of their bytes") {
  Names names;
  std::size_t texts = 0;
  for (std::size_t length = 0; length <= 40; ++length) {
    const std::vector<char> plain(length, 'a');  // exactly as long: nothing beyond it may be read
    names.intern({plain.data(), plain.size()});
    ++texts;
    for (std::size_t at = 0; at < length; ++at) {
      std::vector<char> other = plain;
      other[at] = 'b';
      names.intern({other.data(), other.size()});
      ++texts;
    }
  }
  CHECK(names.size() == texts);
}
