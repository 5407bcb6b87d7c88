// Fixture texts with marks: `$0`, `$1`, … stand before the first byte of what a fact is about and are taken out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "annotator/source/anchors.h"

namespace hotlens::source::test {

struct MarkedText {
  std::string text;
  std::map<int, std::uint32_t> marks;  // number → byte

  Position position(int mark) const;
};

MarkedText marked(std::string_view text);
Position position_in(std::string_view text, std::uint32_t byte);

// A fact about `what`, which stands behind a mark.
Fact fact_at(const MarkedText& text, int mark, std::string_view what, Role role, std::string function);
// A fact that knows only its line.
Fact line_fact(const MarkedText& text, int mark, Role role, std::string function);

// The text of a range.
std::string_view slice(std::string_view text, const Range& range);

}  // namespace hotlens::source::test
