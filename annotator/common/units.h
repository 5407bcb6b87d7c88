// Units and ids that every room of the annotator speaks.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace hotlens {

// All times are whole nanoseconds; formatting happens at the last step (server/features/words/format.h).
using Ns = std::chrono::duration<std::int64_t, std::nano>;

// Sizes in bytes; negative values are differences (a free in a memory event).
enum class Bytes : std::int64_t {};

constexpr std::int64_t count(Bytes bytes) {
  return static_cast<std::int64_t>(bytes);
}
constexpr Bytes operator+(Bytes a, Bytes b) {
  return Bytes{count(a) + count(b)};
}

// An index into one table; a different Tag is a different, incompatible id.
template <class Tag>
struct Id {
  std::uint32_t index = std::numeric_limits<std::uint32_t>::max();

  constexpr bool valid() const { return index != std::numeric_limits<std::uint32_t>::max(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace hotlens
