#include "annotator/advice/rules/loader_workers.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kHandOver = std::chrono::milliseconds(3);  // of a batch, as prototypes measured
constexpr double kError = 0.15;                              // of the ratio; the mean error of prototypes was 6.5 %
constexpr std::int64_t kMostWorkers = 4;                     // as the edit sets at most

}  // namespace

std::optional<Loading> with_workers(const profile::Loop& loop, const profile::LoopStatement& fetch) {
  if (!loop.processors || loop.updates <= 0 || loop.watched <= Ns{} || fetch.total <= Ns{} || fetch.total >= loop.watched)
    return std::nullopt;
  const profile::Processors& processors = *loop.processors;
  const Seconds wall = processors.wall, whole = loop.watched, data = fetch.total, rest = whole - data;
  const double busy = Seconds(processors.ours) / wall, others = Seconds(processors.others) / wall;
  const double computing = std::max((busy * whole - data) / rest, 0.0);  // processors that the training has while it does not fetch
  const double free = static_cast<double>(processors.count) - computing - others;
  const auto workers = std::min<std::int64_t>(std::clamp<std::int64_t>(processors.count - 1, 1, kMostWorkers), std::llround(free));
  if (workers < 1) return std::nullopt;
  const Seconds step = std::max(rest + static_cast<double>(fetch.calls) * kHandOver, data / static_cast<double>(workers));
  const double ratio = step / whole;
  const double least = rest / whole;  // fetching for nothing
  return Loading{.step = {.ratio = ratio, .low = std::max(ratio / (1 + kError), least), .high = ratio * (1 + kError)}, .workers = workers};
}

bool outlasts_handing_over(const profile::LoopStatement& fetch) {
  return Seconds(fetch.total) > static_cast<double>(fetch.calls) * kHandOver;
}

// Certain: batches are made by the process that trains, and the step passes its time with it.
std::optional<Found> loader_workers(const Recording& recording) {
  const Marks loading =
      named(recording, [](std::string_view name) { return name.starts_with("enumerate(DataLoader)#_SingleProcessDataLoaderIter"); });
  if (loading.empty()) return std::nullopt;
  const Sum spent = sum(recording, loading);
  if (spent.host <= Ns{}) return std::nullopt;
  Found found{.evidence = {{"the training process makes the batches itself", spent.host, ""}},
              .assumes = {"processors are free for the workers, and they are as fast as this process"},
              .node = first(recording, loading),
              .change = without(loading)};
  const profile::Loop* loop = recording.profile.loop.get();
  const profile::LoopStatement* fetch = loop == nullptr ? nullptr : profile::fetching(*loop, recording.profile.stage_sites);
  if (fetch != nullptr && !outlasts_handing_over(*fetch)) return std::nullopt;
  if (const auto told = fetch == nullptr ? std::nullopt : with_workers(*loop, *fetch)) {
    found.foretold = told->step;
    found.assumes = {counted(told->workers, "worker makes", "workers make") +
                     " batches, as many as processors were free while it ran, and " + "as fast as this process"};
  }
  return found;
}

}  // namespace hotlens::rules
