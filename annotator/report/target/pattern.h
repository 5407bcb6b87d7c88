// Patterns that a person gives, matched against lines of somebody's log in time that grows with both lengths alone: all ways through the
// pattern are followed at once, and none is ever tried again (Thompson 1968, with groups as in Pike's machine).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::target {

constexpr std::size_t kMostPattern = 200;  // characters
constexpr std::size_t kMostGroups = 2;

// Understands: text, `.`, `[a-z]`, `[^…]`, `\d \w \s \D \W \S`, `\` before anything else, `( )`, `(?: )`, `|`, `* + ?`, `^` and `$`.
class Pattern {
 public:
  // The error says what is not understood, and where.
  static Result<Pattern> parse(std::string_view text);

  std::size_t groups() const { return groups_; }

  // The groups of the first place where it fits; an empty one where a group took no part.
  std::optional<std::array<std::string_view, kMostGroups>> match(std::string_view line) const;

 private:
  friend class PatternReader;
  enum class Does : std::uint8_t { take, split, jump, save, begin, end, accept };
  static constexpr std::uint32_t kBehind = 0xffffffff;  // the step behind it
  struct Step {
    Does does = Does::accept;
    std::uint32_t next = kBehind, other = 0;  // of split: the way that is preferred, and the other one; of save: `other` is its place
    std::bitset<256> taken;
  };
  std::vector<Step> steps_;
  std::size_t groups_ = 0;
};

}  // namespace hotlens::target
