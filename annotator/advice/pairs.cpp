#include "annotator/advice/pairs.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace hotlens::advice {
namespace {

constexpr std::array<std::size_t, 5> kLooks{kLeastPairs, 6, 9, 13, kMostPairs};
constexpr double kNone = 0.01;    // a change below is none
constexpr double kNarrow = 0.01;  // half of the interval; nobody needs to know it better
constexpr double kWorth = 0.02;   // a gain below is not advised
// Of Student's t, by degrees of freedom from 1: 0.1 % on either side.
constexpr std::array<double, kMostPairs - 1> kQuantiles{318.31, 22.327, 10.215, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144,
                                                        4.025,  3.930,  3.852,  3.787, 3.733, 3.686, 3.646, 3.610, 3.579};

}  // namespace

bool Measured::faster() const {
  return high < 1 && ratio < 1 - kNone;
}

bool Measured::slower() const {
  return low > 1 && ratio > 1 + kNone;
}

std::optional<Measured> measured(const std::vector<Pair>& pairs) {
  const std::size_t count = pairs.size();
  const auto usable = [](const Pair& pair) { return pair.before > Ns{} && pair.after > Ns{}; };
  if (count < 2 || !std::ranges::all_of(pairs, usable)) return std::nullopt;
  double sum = 0, squares = 0;
  const auto logarithm = [](const Pair& pair) {
    return std::log(static_cast<double>(pair.after.count()) / static_cast<double>(pair.before.count()));
  };
  for (const Pair& pair : pairs) sum += logarithm(pair);
  const double mean = sum / static_cast<double>(count);
  for (const Pair& pair : pairs) squares += (logarithm(pair) - mean) * (logarithm(pair) - mean);
  const double error = std::sqrt(squares / static_cast<double>(count - 1) / static_cast<double>(count));
  const double half = kQuantiles[std::min(count - 2, kQuantiles.size() - 1)] * error;
  return Measured{.pairs = count, .ratio = std::exp(mean), .low = std::exp(mean - half), .high = std::exp(mean + half)};
}

bool enough(const std::vector<Pair>& pairs) {
  if (pairs.size() >= kMostPairs) return true;
  if (std::ranges::find(kLooks, pairs.size()) == kLooks.end()) return false;
  const auto now = measured(pairs);
  return now && (now->faster() || now->slower() || now->low > 1 - kWorth || now->half_width() < kNarrow);
}

std::string_view name(Losses losses) {
  constexpr std::array<std::string_view, 4> kNames{"unknown", "equal", "close", "differ"};
  return kNames[static_cast<std::size_t>(losses)];
}

Losses losses_named(std::string_view wanted) {
  for (const Losses losses : {Losses::equal, Losses::close, Losses::differ}) {
    if (name(losses) == wanted) return losses;
  }
  return Losses::unknown;
}

Losses compared(const std::vector<std::vector<double>>& before, const std::vector<double>& after, double tolerance) {
  if (before.size() < 2 || before.front().empty() || after.size() != before.front().size()) return Losses::unknown;
  if (std::ranges::any_of(before, [&](const auto& run) { return run != before.front(); })) return Losses::unknown;
  Losses found = Losses::equal;
  for (std::size_t at = 0; at < after.size(); ++at) {
    const double was = before.front()[at], is = after[at];
    if (is == was) continue;
    if (!(std::abs(is - was) <= tolerance * std::max(std::abs(was), std::abs(is)))) return Losses::differ;
    found = Losses::close;
  }
  return found;
}

}  // namespace hotlens::advice
