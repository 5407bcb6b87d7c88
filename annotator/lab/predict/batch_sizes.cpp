#include "annotator/lab/predict/batch_sizes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/common/json_member.h"
#include "annotator/profile/spread.h"

namespace hotlens::lab {
namespace {

using nlohmann::json;

constexpr double kMostDifference = 0.0002, kMostDifferenceOfBlocks = 0.02;  // of the peaks
// How far the replay's own growth may be off, as a share of it: the worst of eight prototypes at four times the size was 10.6 % of the
// step.
constexpr double kReplayError = 0.1;
// What a DataLoader takes for a batch beside its samples, ns: with three tensors and 8 to 32 samples 0.12 ms in a loop, whose caches are
// cold.
constexpr double kFetchingFixed = 100'000;
constexpr double kFetchingError = 0.2;  // of the growth
constexpr double kPage = 4096;          // bytes
__extension__ using Wide = __int128;

BlockSegment segment(const json& one) {
  return {.block = one.at("block"), .backward = one.at("backward"), .net = Bytes{one.at("net_bytes")}, .rise = Bytes{one.at("rise_bytes")}};
}

Replays replays(const json& one) {
  Replays read{.batch = one.at("batch"), .start = Bytes{one.at("start_bytes")}, .peak = Bytes{one.at("peak_bytes")}};
  for (const json& time : one.at("time_ns")) read.times.emplace_back(time.get<std::int64_t>());
  if (one.contains("events")) read.events = one["events"].get<std::vector<std::int64_t>>();
  for (const json& row : one.value("segments", json::array())) read.segments.push_back(segment(row));
  for (const json& row : one.value("blocks", json::array())) {
    SecondRuns& runs = read.again[row.at("block")];
    runs.saved = row.at("saved");
    for (const json& time : row.at("again_ns")) runs.took.emplace_back(time.get<std::int64_t>());
  }
  return read;
}

// Of differences between turns that stand beside each other: what disturbs the machine for a while disturbs both.
std::vector<Ns> growth(const Replays& recorded, const Replays& other) {
  std::vector<Ns> found;
  for (std::size_t at = 0; at < std::min(recorded.times.size(), other.times.size()); ++at)
    found.push_back(other.times[at] - recorded.times[at]);
  return found;
}

// That a step needs beyond what is there when it begins.
double pages(const Replays& of) {
  return static_cast<double>(std::max<std::int64_t>(count(of.peak) - count(of.start), 0)) / kPage;
}

std::optional<Method> method_named(const std::string& wanted) {
  for (const Method method : {Method::run, Method::replay, Method::line}) {
    if (name(method) == wanted) return method;
  }
  return std::nullopt;
}

std::optional<MemoryEnd> end_of(const json& document) {
  const auto end = document.find("memory");
  if (end == document.end()) return std::nullopt;
  return MemoryEnd{.memory = Bytes{end->at("bytes")}, .whose = text_member(*end, "of"), .largest_batch = end->at("largest_batch_size")};
}

std::optional<StepTime> time_of(const json& point) {
  if (!point.contains("step_ns")) return std::nullopt;
  return StepTime{.step = Ns{point.at("step_ns")},
                  .low = Ns{point.at("low_ns")},
                  .high = Ns{point.at("high_ns")},
                  .faults = Ns{point.value("page_faults_ns", std::int64_t{0})}};
}

}  // namespace

std::expected<std::vector<Replays>, Refusal> read_replays(const json& answer) {
  try {
    if (!answer.is_object()) return std::unexpected(Refusal{.reason = "the worker's answer is broken"});
    if (const auto error = answer.find("error"); error != answer.end()) {
      return std::unexpected(Refusal{
          .reason = text_member(*error, "message"), .op = text_member(*error, "operator"), .module = text_member(*error, "module")});
    }
    std::vector<Replays> all;
    for (const json& one : answer.at("replays")) all.push_back(replays(one));
    return all;
  } catch (const json::exception&) {
    return std::unexpected(Refusal{.reason = "the worker's answer is broken"});
  }
}

std::int64_t second_size(std::int64_t batch) {
  return batch > 2 ? batch * 3 / 4 : batch + 1;
}

std::string sizes_around(std::int64_t batch) {
  const std::string half = batch > 1 ? std::to_string(batch / 2) + "," : "";
  return half + std::to_string(2 * batch) + "," + std::to_string(4 * batch);
}

double SelfCheck::ratio() const {
  return count(real) == 0 ? 0 : static_cast<double>(count(replayed)) / static_cast<double>(count(real));
}

bool SelfCheck::ok() const {
  return std::abs(ratio() - 1) <= (on_cpu ? kMostDifference : kMostDifferenceOfBlocks);
}

SelfCheck self_check(const Recorded& recorded, Bytes replayed) {
  return {.batch = recorded.batch, .real = recorded.peak, .replayed = replayed, .on_cpu = recorded.on_cpu};
}

std::optional<Bytes> peak_at(const Replays& one, const Replays& other, std::int64_t batch) {
  if (one.batch == other.batch || one.events.size() != other.events.size()) return std::nullopt;
  const auto at = [&](std::int64_t a, std::int64_t b) { return Wide{a} * (other.batch - one.batch) + (Wide{b} - a) * (batch - one.batch); };
  Wide held = at(count(one.start), count(other.start)), peak = held;
  for (std::size_t event = 0; event < one.events.size(); ++event) {
    if ((one.events[event] < 0) != (other.events[event] < 0)) return std::nullopt;
    held += at(one.events[event], other.events[event]);
    if ((other.batch > one.batch) == (held > peak)) peak = held;
  }
  peak /= other.batch - one.batch;
  if (peak < 0 || peak > Wide{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(peak)};
}

std::optional<std::int64_t> largest_within(const Replays& one, const Replays& other, Bytes memory) {
  constexpr std::int64_t kNoEnd = std::int64_t{1} << 40;
  const auto fits = [&](std::int64_t batch) {
    const auto peak = peak_at(one, other, batch);
    return peak && *peak <= memory;
  };
  if (!peak_at(one, other, 1)) return std::nullopt;
  if (!fits(1)) return 0;
  std::int64_t within = 1, beyond = 2;
  for (; fits(beyond); beyond *= 2) {
    if (beyond >= kNoEnd) return std::nullopt;
    within = beyond;
  }
  while (beyond - within > 1) {
    const std::int64_t middle = within + (beyond - within) / 2;
    (fits(middle) ? within : beyond) = middle;
  }
  return within;
}

std::optional<StepTime> measured_time(const std::vector<Ns>& real) {
  if (real.empty()) return std::nullopt;
  const profile::Sample sample = profile::sample(real);
  const Ns half{std::llround(profile::kTwoSigma * std::sqrt(sample.variance))};
  return StepTime{.step = sample.median, .low = std::max(sample.median - half, Ns{1}), .high = sample.median + half};
}

std::optional<StepTime> step_time(const std::vector<Ns>& real, const StepFaults& faults, Ns fetching, const Replays& recorded,
                                  const Replays& other) {
  const std::vector<Ns> differences = growth(recorded, other);
  if (real.empty() || differences.empty()) return std::nullopt;
  const profile::Sample base = profile::sample(real), grown = profile::sample(differences);
  // Of the pages that a step needs, the share that it takes anew.
  const double share = std::min(static_cast<double>(faults.count) / std::max(pages(recorded), 1.0), 1.0);
  const double each = static_cast<double>(faults.each.count());
  const double filled = std::min(share * pages(recorded) * each, static_cast<double>(base.median.count()));
  // A replay that is slower than the script leaves nothing for Python: the machine was another one then, and its speed is divided out.
  const double replayed = static_cast<double>(profile::sample(recorded.times).median.count());
  const double without = static_cast<double>(base.median.count()) - filled;
  const double fetched = std::clamp(static_cast<double>(fetching.count()), 0.0, without);
  const double pace = replayed > 0 ? std::min((without - fetched) / replayed, 1.0) : 1;
  const double times = recorded.batch > 0 ? static_cast<double>(other.batch) / static_cast<double>(recorded.batch) : 1;
  const double fetching_grows = std::max(fetched - kFetchingFixed, 0.0) * (times - 1);
  const double growth_ns = pace * static_cast<double>(grown.median.count());
  const double most = pages(other) * each;
  const Ns least{std::llround(without + growth_ns + fetching_grows)};
  if (least <= Ns{}) return std::nullopt;
  const double chance = profile::kTwoSigma * std::sqrt(base.variance + pace * pace * grown.variance);
  const Ns half{std::llround(chance + kReplayError * std::abs(growth_ns) + kFetchingError * std::abs(fetching_grows))};
  return StepTime{.step = least + Ns{std::llround(share * most)},
                  .low = std::max(least - half, Ns{1}),
                  .high = least + Ns{std::llround(most)} + half,
                  .faults = Ns{std::llround(most)}};
}

Result<BatchSizes> read_batch_sizes(std::string_view written) {
  const Error other{ErrorCode::malformed, "this is no prediction for batch sizes", {}};
  try {
    const json document = json::parse(written);
    if (text_member(document, "schema") != "hotlens.predict/1") return std::unexpected(other);
    BatchSizes read{.profile = text_member(document, "profile"),
                    .batches = std::max(document.value("batches_per_step", std::int64_t{1}), std::int64_t{1}),
                    .checks = {},
                    .points = {},
                    .refused = {},
                    .end = end_of(document),
                    .not_replayed = Ns{document.value("not_replayed_ns", std::int64_t{0})}};
    for (const json& point : document.at("points")) {
      const auto method = method_named(text_member(point, "method"));
      if (!method) return std::unexpected(other);
      read.points.push_back({.batch = point.at("batch_size"),
                             .method = *method,
                             .time = time_of(point),
                             .peak = Bytes{point.at("peak_bytes")},
                             .note = text_member(point, "note")});
    }
    for (const json& refusal : document.at("refused")) {
      read.refused.push_back({.batch = refusal.at("batch_size"),
                              .reason = text_member(refusal, "reason"),
                              .op = text_member(refusal, "operator"),
                              .module = text_member(refusal, "module")});
    }
    return read;
  } catch (const json::exception&) {
    return std::unexpected(other);
  }
}

std::optional<Rate> rate(const Point& base, const Point& point) {
  if (!base.time || !point.time || base.batch <= 0 || base.time->step <= Ns{} || point.time->low <= Ns{}) return std::nullopt;
  const double batches = static_cast<double>(point.batch) / static_cast<double>(base.batch);
  const auto at = [&](Ns step) { return batches * static_cast<double>(base.time->step.count()) / static_cast<double>(step.count()); };
  return Rate{.ratio = at(point.time->step), .low = at(point.time->high), .high = at(point.time->low)};
}

std::string_view name(Method method) {
  switch (method) {
    case Method::run:
      return "run";
    case Method::replay:
      return "replay";
    case Method::line:
      return "line";
  }
  return "";
}

}  // namespace hotlens::lab
