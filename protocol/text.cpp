#include "protocol/text.h"

#include <algorithm>

namespace hotlens::protocol {
namespace {

// Whether a line starts at `at` (> 0): after \n, or after a \r that no \n follows.
bool starts_line(std::string_view text, std::size_t at) {
  const char before = text[at - 1];
  return before == '\n' || (before == '\r' && (at == text.size() || text[at] != '\n'));
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::size_t sequence_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte >= 0xF0) return 4;
  if (byte >= 0xE0) return 3;
  return 2;
}

std::uint32_t units_of(std::size_t sequence, Encoding encoding) {
  if (encoding == Encoding::utf8) return static_cast<std::uint32_t>(sequence);
  return encoding == Encoding::utf16 && sequence == 4 ? 2 : 1;
}

// The byte offset in `line` of a column; a column inside a character goes to its start.
std::size_t column_offset(std::string_view line, std::uint32_t column, Encoding encoding) {
  if (encoding == Encoding::utf8) {
    std::size_t offset = std::min<std::size_t>(column, line.size());
    while (offset > 0 && offset < line.size() && is_continuation(line[offset])) --offset;
    return offset;
  }
  std::size_t offset = 0;
  std::uint32_t passed = 0;
  while (offset < line.size()) {
    const std::size_t size = std::min(sequence_length(line[offset]), line.size() - offset);
    passed += units_of(size, encoding);
    if (passed > column) break;
    offset += size;
  }
  return offset;
}

}  // namespace

std::string_view name(Encoding encoding) {
  switch (encoding) {
    case Encoding::utf8:
      return "utf-8";
    case Encoding::utf16:
      return "utf-16";
    case Encoding::utf32:
      return "utf-32";
  }
  return "utf-16";
}

std::optional<Encoding> encoding(std::string_view wanted) {
  for (const Encoding known : {Encoding::utf8, Encoding::utf16, Encoding::utf32}) {
    if (name(known) == wanted) return known;
  }
  return std::nullopt;
}

LineIndex::LineIndex(std::string_view text) : starts_{0} {
  for (std::size_t at = text.find_first_of("\r\n"); at != std::string_view::npos; at = text.find_first_of("\r\n", at + 1)) {
    if (starts_line(text, at + 1)) starts_.push_back(static_cast<std::uint32_t>(at + 1));
  }
}

void LineIndex::replaced(std::string_view text, std::size_t start, std::size_t old_end, std::size_t new_end) {
  // A start depends on the two bytes around it: those before `start` and behind `old_end` keep theirs, the ones between are found anew.
  const auto first = std::ranges::lower_bound(starts_, std::max<std::size_t>(start, 1));
  const auto last = std::ranges::upper_bound(starts_, std::max<std::size_t>(old_end, 0));
  std::vector<std::uint32_t> fresh;
  for (std::size_t at = std::max<std::size_t>(start, 1); at <= new_end && at <= text.size(); ++at) {
    if (starts_line(text, at)) fresh.push_back(static_cast<std::uint32_t>(at));
  }
  const auto shift = static_cast<std::uint32_t>(new_end - old_end);  // wraps for a shrinking text, and so does the sum below
  for (auto behind = last; behind != starts_.end(); ++behind) *behind += shift;
  const auto at = starts_.erase(first, std::max(first, last));
  starts_.insert(at, fresh.begin(), fresh.end());
}

std::size_t LineIndex::line_at(std::size_t offset) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts_, offset) - starts_.begin()) - 1;
}

std::string_view line_text(std::string_view text, const LineIndex& index, std::size_t line) {
  const std::size_t begin = index.start(line);
  std::size_t end = line + 1 < index.lines() ? index.start(line + 1) : text.size();
  if (end > begin && text[end - 1] == '\n' && line + 1 < index.lines()) --end;
  if (end > begin && text[end - 1] == '\r' && line + 1 < index.lines()) --end;
  return text.substr(begin, end - begin);
}

std::size_t offset_at(std::string_view text, const LineIndex& index, Position position, Encoding encoding) {
  if (position.line >= index.lines()) return text.size();
  return index.start(position.line) + column_offset(line_text(text, index, position.line), position.character, encoding);
}

Position position_at(std::string_view text, const LineIndex& index, std::size_t offset, Encoding encoding) {
  const std::size_t at = std::min(offset, text.size());
  const std::size_t line = index.line_at(at);
  const std::string_view content = line_text(text, index, line);
  return {static_cast<std::uint32_t>(line), units(content.substr(0, at - index.start(line)), encoding)};
}

std::uint32_t units(std::string_view utf8, Encoding encoding) {
  if (encoding == Encoding::utf8) return static_cast<std::uint32_t>(utf8.size());
  std::uint32_t count = 0;
  for (const char c : utf8) {
    if (is_continuation(c)) continue;
    count += units_of(sequence_length(c), encoding);
  }
  return count;
}

bool apply_change(std::string& text, LineIndex& index, const std::optional<Range>& range, std::string_view replacement, Encoding encoding) {
  if (!range) {
    text.assign(replacement);
    index = LineIndex(text);
    return true;
  }
  // One line beyond the last is how several clients write the end of the text; further is a sign of two diverging texts.
  if (range->end < range->start || range->start.line > index.lines()) return false;
  const std::size_t start = offset_at(text, index, range->start, encoding);
  const std::size_t end = std::max(start, offset_at(text, index, range->end, encoding));
  text.replace(start, end - start, replacement);
  index.replaced(text, start, end, start + replacement.size());
  return true;
}

}  // namespace hotlens::protocol
