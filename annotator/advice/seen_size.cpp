#include "annotator/advice/seen_size.h"

#include <algorithm>
#include <utility>

#include "annotator/advice/seen.h"
#include "annotator/lab/predict/kept.h"

namespace hotlens::advice {
namespace {

namespace fs = std::filesystem;

Record about_size(Event event, const std::string& profile, const profile::Manifest& after) {
  return {.event = event,
          .time = time_now(),
          .profile = profile,
          .kind = std::string(kBatchSize),
          .torch = after.torch,
          .file = {},
          .method = {},
          .ratio = {},
          .assumes = {}};
}

// Of the step that was recorded.
std::optional<lab::Ratio> predicted_ratio(const lab::BatchSizes& predicted, std::int64_t batch) {
  const auto measured = std::ranges::find(predicted.points, lab::Method::run, &lab::Point::method);
  const auto found = std::ranges::find(predicted.points, batch, &lab::Point::batch);
  const bool known = measured != predicted.points.end() && measured->time && found != predicted.points.end() && found->time;
  if (!known || found->method == lab::Method::run || measured->time->step <= Ns{}) return std::nullopt;
  const auto ratio = [&](Ns time) { return static_cast<double>(time.count()) / static_cast<double>(measured->time->step.count()); };
  return lab::Ratio{ratio(found->time->step), ratio(found->time->low), ratio(found->time->high)};
}

bool is_told(const Ledger& ledger, const fs::path& bundle) {
  return std::ranges::any_of(ledger.records, [&](const Record& one) {
    return one.event == Event::seen && one.kind == kBatchSize && one.after == bundle.filename().string();
  });
}

}  // namespace

std::vector<Record> seen_size(const Ledger& ledger, const std::vector<fs::path>& newest_first, const fs::path& bundle) {
  if (is_told(ledger, bundle)) return {};
  const auto now = profile::read_manifest(bundle);
  if (!now || !now->batch_size) return {};
  for (const fs::path& one : newest_first) {
    const auto manifest = profile::read_manifest(one);
    if (!manifest || manifest->created >= now->created || manifest->cwd != now->cwd) continue;
    const auto predicted = lab::read_kept_batch_sizes(one, manifest->id);
    const auto ratio = predicted ? predicted_ratio(*predicted, *now->batch_size) : std::nullopt;
    if (!ratio) continue;
    const auto before = read_ran(one), after = read_ran(bundle);  // with all their texts
    const auto step = before && after ? judged_size(*before, *after) : std::unexpected(std::string());
    if (!step) continue;
    Record foretold = about_size(Event::predicted, manifest->id, *now), seen = about_size(Event::seen, manifest->id, *now);
    foretold.method = kReplay;
    foretold.ratio = ratio;
    seen.after = now->id;
    seen.ratio = step->ratio;
    seen.step_was = step->was;
    seen.step = step->now;
    return {std::move(foretold), std::move(seen)};
  }
  return {};
}

}  // namespace hotlens::advice
