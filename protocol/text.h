// Lines and columns of a text as LSP counts them, and edits in those terms.
//
// A line ends at \n, \r\n or a lone \r. A column counts units of the negotiated encoding; the text itself is UTF-8. Positions from a client
// are clamped to the line, never trusted. The index is separate from the text so that an edit updates both in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotlens::protocol {

enum class Encoding : std::uint8_t { utf8, utf16, utf32 };

std::string_view name(Encoding encoding);  // "utf-16"
std::optional<Encoding> encoding(std::string_view name);

struct Position {
  std::uint32_t line = 0;
  std::uint32_t character = 0;
  friend constexpr auto operator<=>(const Position&, const Position&) = default;
};

struct Range {
  Position start, end;  // end is exclusive
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  // Follows the replacement of [start, old_end) by [start, new_end); `text` is the text after it.
  void replaced(std::string_view text, std::size_t start, std::size_t old_end, std::size_t new_end);

  std::size_t lines() const { return starts_.size(); }  // at least 1
  std::size_t start(std::size_t line) const { return starts_[line]; }
  std::size_t line_at(std::size_t offset) const;

  friend bool operator==(const LineIndex&, const LineIndex&) = default;

 private:
  std::vector<std::uint32_t> starts_;  // ascending, first is 0; texts are below kMaxBodyBytes
};

// The line without its end mark. `line` must exist.
std::string_view line_text(std::string_view text, const LineIndex& index, std::size_t line);

// Beyond the line: its end; inside a character: that character's start; beyond the text: the text's end.
std::size_t offset_at(std::string_view text, const LineIndex& index, Position position, Encoding encoding);
Position position_at(std::string_view text, const LineIndex& index, std::size_t offset, Encoding encoding);

// The number of units that `utf8` has in an encoding.
std::uint32_t units(std::string_view utf8, Encoding encoding);

// Replaces `range` (nullopt: the whole text). False, with nothing changed, when the range is reversed or starts beyond the text.
bool apply_change(std::string& text, LineIndex& index, const std::optional<Range>& range, std::string_view replacement, Encoding encoding);

}  // namespace hotlens::protocol
