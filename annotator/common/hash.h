// Hashing for tables whose keys come from a file: a key to each process, so that nobody can write a file whose names or ids all collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace hotlens {

// Both halves of a product, folded: every bit of either number reaches every bit of the result.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The same for all tables of a process. Odd, so that multiplying by it loses nothing.
inline std::uint64_t hash_key() {
  static const std::uint64_t key = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32 | random()) | 1;
  }();
  return key;
}

// For std::unordered_map with numbers from a file; the standard's own hash is the number itself.
struct NumberHash {
  std::size_t operator()(std::uint64_t number) const { return folded_product(number ^ hash_key(), 0x9e3779b97f4a7c15ULL ^ hash_key()); }
};

}  // namespace hotlens
