// Places in a text. Lines and columns are 0-based, columns count UTF-8 bytes.
#pragma once

#include <compare>
#include <cstdint>

namespace hotlens::source {

struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend constexpr auto operator<=>(const Position&, const Position&) = default;
};

struct Range {
  Position begin, end;  // end is exclusive
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

constexpr bool is_inside(const Range& inner, const Range& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

// An edit in bytes and positions, as tree-sitter wants it.
struct Edit {
  std::uint32_t start_byte = 0, old_end_byte = 0, new_end_byte = 0;
  Position start, old_end, new_end;
};

}  // namespace hotlens::source
