#include "tests/unit/source/marked_text.h"

#include <stdexcept>

namespace hotlens::source::test {

MarkedText marked(std::string_view text) {
  MarkedText made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9') {
      made.marks[text[i + 1] - '0'] = static_cast<std::uint32_t>(made.text.size());
      ++i;
    } else {
      made.text += text[i];
    }
  }
  return made;
}

Position position_in(std::string_view text, std::uint32_t byte) {
  Position at;
  for (std::uint32_t i = 0; i < byte; ++i) {
    bool ends = text[i] == '\n' || (text[i] == '\r' && (i + 1 >= text.size() || text[i + 1] != '\n'));
    at = ends ? Position{at.line + 1, 0} : Position{at.line, at.column + 1};
  }
  return at;
}

Position MarkedText::position(int mark) const {
  return position_in(text, marks.at(mark));
}

Fact fact_at(const MarkedText& text, int mark, std::string_view what, Role role, std::string function) {
  std::uint32_t begin = text.marks.at(mark);
  if (!std::string_view(text.text).substr(begin).starts_with(what)) throw std::logic_error("the fixture has another text at the mark");
  auto end = begin + static_cast<std::uint32_t>(what.size());
  return {.role = role,
          .range = {position_in(text.text, begin), position_in(text.text, end)},
          .has_columns = true,
          .function = std::move(function)};
}

Fact line_fact(const MarkedText& text, int mark, Role role, std::string function) {
  Position at{text.position(mark).line, 0};
  return {.role = role, .range = {at, at}, .has_columns = false, .function = std::move(function)};
}

std::string_view slice(std::string_view text, const Range& range) {
  std::uint32_t begin = 0, end = 0;
  for (std::uint32_t i = 0; i <= text.size(); ++i) {
    Position at = position_in(text, i);
    if (at == range.begin) begin = i;
    if (at == range.end) end = i;
    if (at > range.end) break;
  }
  return text.substr(begin, end - begin);
}

}  // namespace hotlens::source::test
