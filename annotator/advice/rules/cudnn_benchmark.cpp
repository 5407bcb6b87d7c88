#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

constexpr std::size_t kLeastSteps = 2;  // one step is equal to no other

// Operators that ask cuDNN for a convolution, with their backward passes.
bool asks_cudnn(std::string_view name) {
  return name.starts_with("aten::cudnn_convolution") || name == "aten::convolution_backward";
}

// torch's own kernels, for depthwise convolutions and conversions, are not chosen by cuDNN.
bool is_torchs(std::string_view kernel) {
  return kernel.contains("at::native");
}

// What a step was given and launched: two steps with other shapes differ in it. Shapes of convolutions where they were recorded, names of
// their kernels, and the sizes of copies to the device, by which a batch comes.
using Shapes = std::vector<std::int64_t>;

class Repeats {
 public:
  explicit Repeats(const Recording& recording)
      : recording_(recording), asked_(named(recording, asks_cudnn)), of_(recording.account.steps.size()) {}

  bool any() const { return !asked_.empty(); }
  const Marks& asked() const { return asked_; }

  bool are_equal() {
    read_shapes();
    read_work();
    return of_.size() >= kLeastSteps && std::ranges::adjacent_find(of_, std::not_equal_to{}) == of_.end();
  }

 private:
  void read_shapes() {
    const trace::Inputs& inputs = recording_.trace.inputs;
    for (std::uint32_t node = 0; node < asked_.size(); ++node) {
      const auto row = asked_[node] ? trace::row_of(inputs.event, recording_.forest.event[node]) : std::nullopt;
      if (!row || !inputs.shapes[*row].valid()) continue;
      for (std::size_t step = 0; step < of_.size(); ++step) {
        const attribution::StepSpan& span = recording_.account.steps[step].span;
        const Ns start = recording_.forest.start[node];
        if (start >= span.start && start < span.end) of_[step][0].push_back(inputs.shapes[*row].index);
      }
    }
  }

  void read_work() {
    const trace::Transfers& transfers = recording_.trace.transfers;
    for (std::size_t step = 0; step < of_.size(); ++step) {
      for (const std::uint32_t at : recording_.account.steps[step].launched) {
        const attribution::Work& work = recording_.account.work[at];
        if (has(asked_, work)) of_[step][1].push_back(recording_.trace.events.name[work.event].index);
        const auto row = trace::row_of(transfers.event, work.event);
        if (row && recording_.name(work).starts_with("Memcpy HtoD")) of_[step][2].push_back(transfers.bytes[*row]);
      }
    }
  }

  const Recording& recording_;
  Marks asked_;
  std::vector<std::array<Shapes, 3>> of_;
};

}  // namespace

// Certain: cuDNN chose its convolutions without trying them, in steps that are alike. Whether another kernel is faster only runs tell.
std::optional<Found> cudnn_benchmark(const Recording& recording) {
  if (recording.trace.hip || recording.account.work.empty() || recording.profile.cudnn_benchmark.value_or(true)) return std::nullopt;
  Repeats repeats(recording);
  if (!repeats.any() || !repeats.are_equal()) return std::nullopt;
  const auto chosen = [&recording, asked = repeats.asked()](const attribution::Work& work) {
    return has(asked, work) && !is_torchs(recording.name(work));
  };
  const Sum spent = sum(recording, chosen);
  if (spent.works == 0) return std::nullopt;
  const Ns busy = std::max(recording.step().device, spent.device);
  return Found{.evidence = {{counted(spent.works, "kernel", "kernels") + " of convolutions that cuDNN chose without trying others, " +
                                 format::percent(spent.device, busy) + " of the device's time, the same in each of " +
                                 std::to_string(recording.account.steps.size()) + " steps",
                             spent.device, ""}},
               .assumes = {"shapes stay the same from step to step: each new one is tried again, which takes time"},
               .node = first(recording, repeats.asked()),
               .change = without_work(chosen),
               .foretold = {},
               .only_measured = true};
}

}  // namespace hotlens::rules
