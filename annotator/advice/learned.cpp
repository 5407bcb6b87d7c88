#include "annotator/advice/learned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace hotlens::advice {
namespace {

// Chance may have made all of them right: nothing is foretold more closely than a machine repeats itself.
constexpr double kLeastError = 0.01;

std::vector<double> errors_of(const Ledger& ledger, std::string_view kind, std::string_view method) {
  std::map<std::string, double> by_profile;
  for (const Outcome& one : outcomes(ledger)) {
    if (!one.predicted || one.predicted->kind != kind || one.predicted->method != method) continue;
    if (one.predicted->unsure) continue;
    const double predicted = one.predicted->ratio->ratio, measured = one.measured().ratio->ratio;
    if (predicted > 0 && measured > 0) by_profile[one.predicted->profile] = std::abs(std::log(measured / predicted));
  }
  std::vector<double> errors;
  for (const auto& [profile, error] : by_profile) errors.push_back(error);
  std::ranges::sort(errors);
  return errors;
}

}  // namespace

std::optional<Learned> learned(const Ledger& ledger, std::string_view kind, std::string_view method) {
  const std::vector<double> errors = errors_of(ledger, kind, method);
  if (errors.size() < kLeastOutcomes) return std::nullopt;
  const auto rank = static_cast<std::size_t>(std::ceil(kHeld * static_cast<double>(errors.size() + 1)));
  const double error = std::max(errors[std::min(rank, errors.size()) - 1], kLeastError);
  return Learned{.outcomes = errors.size(),
                 .inside = static_cast<std::size_t>(std::ranges::upper_bound(errors, error) - errors.begin()),
                 .error = error};
}

lab::Ratio with_learned(const lab::Ratio& noise, const Learned& learned) {
  const double own = noise.ratio > 0 ? std::log(noise.high / noise.ratio) : 0;
  const double factor = std::exp(std::hypot(own, learned.error));
  return {.ratio = noise.ratio, .low = noise.ratio / factor, .high = noise.ratio * factor};
}

std::string sentence(const Learned& learned) {
  return fmt::format("as {} such changes turned out here: {} of them within {:.1f} %", learned.outcomes, learned.inside,
                     (std::exp(learned.error) - 1) * 100);
}

}  // namespace hotlens::advice
