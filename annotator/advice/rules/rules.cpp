#include "annotator/advice/rules/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "annotator/advice/rules/places.h"

namespace hotlens::rules {
namespace {

constexpr auto kRules = std::to_array<Rule>({
    {"loader_workers", "Make batches in worker processes (num_workers)", loader_workers},
    {"pin_memory", "Copy batches from pinned memory", pin_memory},
    {"host_read", "Read numbers from the device less often", host_reads},
    {"host_tensor", "Make tensors on the device", host_tensors},
    {"lower_precision", "16-bit products under autocast", lower_precision},
    {"tf32", "Allow TF32 in 32-bit products", tf32},
    {"fused_optimizer", "Optimizer with fused=True", fused_optimizer},
    {"channels_last", "Model and images in channels_last", channels_last},
    {"fused_attention", "Attention with F.scaled_dot_product_attention", fused_attention},
    {"fewer_launches", "Launch less: a larger batch, torch.compile or CUDA graphs", fewer_launches},
    {"zero_grad_none", "zero_grad(set_to_none=True)", zero_grad_none},
    {"unbind_time", "Take time steps apart once, with x.unbind()", unbind_time},
    {"gelu_tanh", "GELU as one operator", fused_gelu},
    {"cudnn_benchmark", "cudnn.benchmark: cuDNN could choose faster convolution kernels", cudnn_benchmark},
    {"keep_freed", "Keep freed memory: thresholds of glibc's malloc", keep_freed},
});

profile::Finding finding(const Recording& recording, const Rule& rule, Found found, double ratio) {
  const Ns step = recording.profile.step_wall();
  const std::optional<CodePlace> place = place_of(recording, found.node);
  return {.kind = std::string(rule.kind),
          .title = std::string(rule.title),
          .evidence = std::move(found.evidence),
          .assumes = std::move(found.assumes),
          .file = place ? place->file : std::string(),
          .line = place ? std::optional(place->line) : std::nullopt,
          .least_ratio = ratio,
          .at_most = Ns{std::llround(static_cast<double>(step.count()) * (1 - ratio))},
          .foretold = found.foretold,
          .only_measured = found.only_measured,
          .note = std::move(found.note)};
}

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

std::vector<kernels::KernelName> kernel_names(const trace::Trace& trace, const attribution::Account& account) {
  std::vector<kernels::KernelName> names(trace.names.size());
  for (const attribution::Work& work : account.work) {
    const trace::NameId name = trace.events.name[work.event];
    if (names[name.index].label.empty()) names[name.index] = kernels::kernel_name(trace.names[name]);
  }
  return names;
}

std::vector<profile::Finding> findings(const Recording& recording, const causes::Schedule& schedule) {
  std::vector<profile::Finding> all;
  if (recording.account.steps.empty()) return all;
  for (const Rule& rule : kRules) {
    std::optional<Found> found = rule.find(recording);
    if (!found || (found->foretold && found->foretold->ratio > 1 - kLeastGain)) continue;
    const double ratio = schedule.play(found->change).ratio();
    const bool promises = !found->only_measured;
    if (ratio <= 1 - kLeastGain) all.push_back(finding(recording, rule, std::move(*found), promises ? ratio : 1));
  }
  std::ranges::stable_sort(all, {}, &profile::Finding::least_ratio);
  return all;
}

}  // namespace hotlens::rules
