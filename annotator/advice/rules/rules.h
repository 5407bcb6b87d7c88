// Rules: changes of a training step that its recording gives evidence for, and how much each could give at most.
//
// A rule is a pure function: it looks for its evidence in a recording and names the work that the change would take away. How much shorter
// the step would be without that work is told by playing the recording's schedule again (annotator/causes/simulate.h), so work that nobody
// waits for promises nothing. That is a bound and no prediction: what stands in the place of the work is not known from a recording.
// One rule, one file; rules.cpp lists them, RULES.md says what is certain of each. A rule that is not sure says nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/causes/simulate.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/profile.h"
#include "annotator/trace/trace.h"

namespace hotlens::costs {
struct Given;
}

namespace hotlens::rules {

// What a rule looks at. `profile`: its steps, stages, causes, kernels and memory are filled.
struct Recording {
  const trace::Trace& trace;
  const attribution::Forest& forest;
  const attribution::Owners& owners;
  const attribution::Account& account;
  const profile::Model* model = nullptr;  // of a bundle
  const profile::Profile& profile;
  const std::vector<kernels::KernelName>& kernels;  // by name of the trace; of device work
  const costs::Given* given = nullptr;              // shapes of operators, also of a bundle's; null: they are not asked for

  const attribution::StepAccount& step() const { return account.steps[profile.representative]; }
  const attribution::StepSpan& span() const { return step().span; }
  std::string_view name(std::uint32_t node) const { return trace.names[trace.events.name[forest.event[node]]]; }
  const kernels::KernelName& kernel(const attribution::Work& work) const { return kernels[trace.events.name[work.event].index]; }
  std::string_view name(const attribution::Work& work) const { return trace.names[trace.events.name[work.event]]; }
  bool in_step(std::uint32_t node) const { return forest.start[node] >= span().start && forest.start[node] < span().end; }
};

struct Found {
  std::vector<profile::Verdict::Evidence> evidence;
  std::vector<std::string> assumes;
  std::uint32_t node = attribution::kNoNode;  // where it belongs in the code: of the host; kNoNode: nowhere
  causes::Change change;                      // what it takes away, at best
  std::optional<profile::Foretold> foretold = {};
  std::string note = {};       // see profile::Finding
  bool only_measured = false;  // what takes the place of that work may be as slow: no bound is told
};

struct Rule {
  std::string_view kind, title;  // "pin_memory"; the title says what to do
  std::optional<Found> (*find)(const Recording&) = nullptr;
};
std::span<const Rule> rules();

// Nothing smaller is worth a person's time: of the step.
constexpr double kLeastGain = 0.02;

// The largest first.
std::vector<profile::Finding> findings(const Recording& recording, const causes::Schedule& schedule);

// `kernels` of a recording.
std::vector<kernels::KernelName> kernel_names(const trace::Trace& trace, const attribution::Account& account);

std::optional<Found> loader_workers(const Recording& recording);
std::optional<Found> pin_memory(const Recording& recording);
std::optional<Found> host_reads(const Recording& recording);
std::optional<Found> host_tensors(const Recording& recording);
std::optional<Found> lower_precision(const Recording& recording);
std::optional<Found> tf32(const Recording& recording);
std::optional<Found> fused_optimizer(const Recording& recording);
std::optional<Found> channels_last(const Recording& recording);
std::optional<Found> fused_attention(const Recording& recording);
std::optional<Found> fewer_launches(const Recording& recording);
std::optional<Found> zero_grad_none(const Recording& recording);
std::optional<Found> unbind_time(const Recording& recording);
std::optional<Found> fused_gelu(const Recording& recording);
std::optional<Found> keep_freed(const Recording& recording);
std::optional<Found> cudnn_benchmark(const Recording& recording);

}  // namespace hotlens::rules
