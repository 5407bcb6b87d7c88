#include "annotator/lab/whatif/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "annotator/profile/page_faults.h"
#include "annotator/profile/spread.h"

namespace hotlens::lab {
namespace {

constexpr double kMostRatio = 1000;
constexpr double kParts = 1e9;  // a ratio in billionths, so that the sample's statistics are those of times

}  // namespace

bool is_possible(const Ratio& time) {
  return time.low > 0 && time.low <= time.ratio && time.ratio <= time.high && time.high <= kMostRatio;
}

std::optional<Ratio> ratio_of(const Replays& recorded, const Replays& changed, double error) {
  std::vector<Ns> ratios;
  for (std::size_t at = 0; at < std::min(recorded.times.size(), changed.times.size()); ++at) {
    if (recorded.times[at] <= Ns{}) continue;
    const double ratio = static_cast<double>(changed.times[at].count()) / static_cast<double>(recorded.times[at].count());
    ratios.emplace_back(std::llround(ratio * kParts));
  }
  if (ratios.empty()) return std::nullopt;
  const profile::Sample sample = profile::sample(ratios);
  const double median = static_cast<double>(sample.median.count()) / kParts;
  if (median <= 0) return std::nullopt;
  const double chance = profile::kTwoSigma * std::sqrt(sample.variance) / kParts / median;
  const double factor = 1 + std::hypot(chance, error);
  return Ratio{.ratio = median, .low = median / factor, .high = median * factor};
}

std::optional<std::int64_t> pays_back_after(const Verdict& verified) {
  const double gained = static_cast<double>(verified.before.count()) * (1 - verified.time.ratio);
  if (!verified.faster || verified.longer <= Ns{} || gained <= 0) return std::nullopt;
  return std::llround(static_cast<double>(verified.longer.count()) / gained);
}

std::string startup_words(const Verdict& verified) {
  if (verified.longer <= Ns{}) return {};
  std::string words = fmt::format("starting takes {} longer", format::readable(verified.longer));
  if (const auto steps = pays_back_after(verified)) {
    words += fmt::format(", which is paid back after {} steps, {} of training", *steps,
                         format::readable(Ns{std::llround(static_cast<double>(*steps * verified.before.count()) * verified.time.ratio)}));
  }
  return words;
}

Ratio with_rest(const Ratio& replayed, double share) {
  const auto whole = [&](double ratio) { return share + (1 - share) * ratio; };
  return {.ratio = whole(replayed.ratio), .low = whole(replayed.low), .high = whole(replayed.high)};
}

Ratio unsure(const Ratio& replayed, const PageFaults& faults) {
  const double rest = 1 - static_cast<double>(faults.time.count()) / static_cast<double>(faults.step.count());
  return {.ratio = replayed.ratio, .low = std::min(replayed.low, 1.0) * rest, .high = std::max(replayed.high, 1.0)};
}

std::string sentence(const PageFaults& faults) {
  return fmt::format(
      "about {} of the step's {} are {} page faults: the script gives memory back to the system and takes it anew in every step. A "
      "replay has none of them, so whether a change makes the step faster is not known. Run the script with "
      "{} first: that alone may end them",
      format::readable(faults.time), format::readable(faults.step), faults.count, profile::kKeepsFreed);
}

void write_warnings(JsonText& json, const std::optional<PageFaults>& faults) {
  json.array("warnings", [&] {
    if (!faults) return;
    json.object([&] {
      json.member("code", std::string_view("page_faults"));
      json.member("message", sentence(*faults));
      json.member("count", faults->count);
      json.member("time_ns", faults->time.count());
    });
  });
}

std::string warning(const PageFaults& faults, const format::Style& style) {
  return fmt::format("{}warning:{} {}\n", style.slower, style.off, sentence(faults));
}

}  // namespace hotlens::lab
