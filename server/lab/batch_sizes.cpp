#include "server/lab/batch_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "annotator/common/memory.h"
#include "annotator/lab/predict/recorded.h"
#include "annotator/profile/statistics.h"
#include "server/lab/page_faults.h"
#include "server/lab/replayable.h"
#include "server/lab/second_size.h"
#include "server/lab/worker.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr Rounds kSizeRounds{.least = 3, .most = 15, .within = milliseconds(4'000)};  // of one batch size
constexpr Rounds kQuickRounds{.least = 3, .most = 15, .within = milliseconds(250)};

// Of the measured step, beside its operators, its loader and its page faults.
Ns not_replayed(const Recorded& recorded, const Replays& replayed, const StepFaults& faults) {
  return std::max(profile::median(recorded.steps) - profile::median(replayed.times) - recorded.fetching - faults.count * faults.each, Ns{});
}

class Prediction {
 public:
  Prediction(const Ask& ask, Joined joined, const fs::path& worker)
      : ask_(ask),
        recorded_(std::move(joined.measured)),
        others_(std::move(joined.others)),
        room_(room_for(recorded_)),
        faults_{.count = recorded_.faults, .each = room_.on_cpu ? cost_of_a_fault() : Ns{}},
        worker_(worker, std::move(joined.document), room_.bytes) {
    predicted_.profile = recorded_.id;
    predicted_.batches = recorded_.batches;
  }

  Result<BatchSizes> run() {
    ask_.say("replaying the step as it was recorded");
    std::vector<std::int64_t> sizes{recorded_.batch};
    for (const Recorded& other : others_) sizes.push_back(other.batch);
    auto base = worker_.step({.batches = sizes, .rounds = 1, .budget = kLongest, .events = true});
    if (!base) return std::unexpected(unreplayable(base.error()));
    base_ = std::move(*base);
    predicted_.checks = {self_check(recorded_, base_[0].peak)};
    for (std::size_t at = 0; at < others_.size(); ++at) predicted_.checks.push_back(self_check(others_[at], base_[at + 1].peak));
    for (const SelfCheck& check : predicted_.checks) {
      if (!check.ok()) return std::unexpected(fails_self_check(check));
    }
    predicted_.points.push_back(
        {.batch = recorded_.batch, .method = Method::run, .time = measured_time(recorded_.steps), .peak = recorded_.peak, .note = {}});
    if (ask_.number.empty()) predicted_.end = memory_end();
    for (const std::int64_t batch : ask_.batches) predict(batch);
    std::ranges::sort(predicted_.points, {}, &Point::batch);
    return std::move(predicted_);
  }

 private:
  void predict(std::int64_t batch) {
    if (batch == recorded_.batch) return;
    const auto line = ask_.number.empty() ? peak_at(base_[0], base_[1], batch) : std::nullopt;
    const std::string reason = why_not_tried(batch, line);
    if (!reason.empty() && line) {
      predicted_.points.push_back({.batch = batch, .method = Method::line, .time = {}, .peak = *line, .note = reason});
      return;
    }
    if (!reason.empty()) return refuse(batch, {.reason = reason});
    ask_.say(fmt::format("replaying at {} {}", ask_.number.empty() ? "batch size" : ask_.number + " =", batch));
    const auto replays = worker_.step({.batches = {recorded_.batch, batch}, .rounds = rounds(batch), .budget = kLongest});
    if (!replays) return refuse(batch, replays.error());
    const Replays& replayed = (*replays)[1];
    predicted_.not_replayed = not_replayed(recorded_, (*replays)[0], faults_);
    predicted_.points.push_back({.batch = batch,
                                 .method = Method::replay,
                                 .time = step_time(recorded_.steps, faults_, recorded_.fetching, (*replays)[0], replayed),
                                 .peak = replayed.peak,
                                 .note = {}});
  }

  std::optional<MemoryEnd> memory_end() const {
    MemoryEnd end;
    if (ask_.memory) {
      end.memory = *ask_.memory;
    } else if (!room_.on_cpu) {
      end = {.memory = Bytes{recorded_.document.value("device_memory_bytes", std::int64_t{0})}, .whose = "the device"};
    } else if (const auto machine = memory_of_machine()) {
      end = {.memory = Bytes{static_cast<std::int64_t>(*machine)}, .whose = "this machine"};
    }
    if (end.memory <= Bytes{}) return std::nullopt;
    const auto largest = largest_within(base_[0], base_[1], end.memory);
    if (!largest) return std::nullopt;
    end.largest_batch = *largest;
    return end;
  }

  void refuse(std::int64_t batch, Refusal refusal) {
    refusal.batch = batch;
    predicted_.refused.push_back(std::move(refusal));
  }

  // Empty: it is tried. The values that a replay puts back after each step are in memory a second time.
  std::string why_not_tried(std::int64_t batch, const std::optional<Bytes>& peak) const {
    if (room_.on_cpu && !peak && ask_.number.empty()) return "its memory cannot be told from the two recorded sizes, so it is not tried";
    const double most = peak ? static_cast<double>(count(*peak)) : static_cast<double>(count(base_[0].peak)) * growth(batch);
    const double needed = most + static_cast<double>(count(base_[0].start));
    std::string reason = too_large(room_, needed);
    if (!reason.empty()) return reason;
    if (ask_.quick && kQuickRounds.least * one_round(batch) > kLongestQuick) return kTooLongToType;
    return too_slow(kSizeRounds.least * one_round(batch));
  }

  // Of the size and the recorded one.
  std::chrono::duration<double, std::milli> one_round(std::int64_t batch) const {
    const double step = std::chrono::duration<double, std::milli>(base_[0].times.front()).count();
    return std::chrono::duration<double, std::milli>(step * (1 + growth(batch)));
  }

  // How many times as much a step may need: in proportion to its batch, to another number's square at most.
  double growth(std::int64_t batch) const {
    const double times = static_cast<double>(batch) / static_cast<double>(recorded_.batch);
    return ask_.number.empty() ? times : std::max(times * times, times);
  }

  int rounds(std::int64_t batch) const { return (ask_.quick ? kQuickRounds : kSizeRounds).of(one_round(batch)); }

  const Ask& ask_;
  Recorded recorded_;
  std::vector<Recorded> others_;
  Room room_;
  StepFaults faults_;
  Worker worker_;
  std::vector<Replays> base_;  // of the recorded sizes
  BatchSizes predicted_;
};

}  // namespace

Result<BatchSizes> predict_batch_sizes(const Ask& ask) {
  auto joined = ask.number.empty() ? with_second_size(ask.bundle) : with_other_values(ask.bundle, ask.number);
  if (!joined) return std::unexpected(joined.error());
  const auto worker = worker_that_recorded(joined->measured.torch, ask.python, ask.say);
  if (!worker) return std::unexpected(worker.error());
  return Prediction(ask, std::move(*joined), *worker).run();
}

}  // namespace hotlens::lab
