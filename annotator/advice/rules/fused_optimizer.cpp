#include <algorithm>
#include <array>

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

// Those that torch has a fused form of.
constexpr auto kFused = std::to_array<std::string_view>({"Adam", "AdamW", "SGD", "Adagrad"});
constexpr double kPasses = 0.4;  // of foreach Adam's 17 reads and writes of a parameter's size the fused kernel makes 7

// "Optimizer.step#Adam.step": "Adam".
std::string_view optimizer_of(std::string_view range) {
  constexpr std::string_view before = "Optimizer.step#", after = ".step";
  if (!range.starts_with(before) || !range.ends_with(after)) return {};
  return range.substr(before.size(), range.size() - before.size() - after.size());
}

}  // namespace

// Certain: torch's own optimizer runs, operator by operator, and nothing of it is fused.
std::optional<Found> fused_optimizer(const Recording& recording) {
  const Marks updating =
      named(recording, [](std::string_view name) { return std::ranges::find(kFused, optimizer_of(name)) != kFused.end(); });
  std::int64_t lists = 0, single = 0;
  std::uint32_t range = attribution::kNoNode;
  for (std::uint32_t node = 0; node < updating.size(); ++node) {
    if (!updating[node] || !recording.in_step(node)) continue;
    const std::string_view name = recording.name(node);
    if (range == attribution::kNoNode && !optimizer_of(name).empty()) range = node;
    if (name.starts_with("aten::_fused_")) return std::nullopt;
    lists += name.starts_with("aten::_foreach_") ? 1 : 0;
    single += name == "aten::add_" || name == "aten::addcdiv_" || name == "aten::mul_" ? 1 : 0;
  }
  if (range == attribution::kNoNode || lists + single == 0) return std::nullopt;
  const Sum spent = sum(recording, updating);
  const std::string form = lists > 0 ? ": foreach, " + counted(lists, "operator", "operators")
                                     : ": one parameter after the other, " + counted(single, "operator", "operators");
  causes::Change change = without(updating);
  change.work = [work = std::move(change.work)](const attribution::Work& item) { return work(item) == 0 ? kPasses : 1.0; };
  std::vector<profile::Verdict::Evidence> evidence{{std::string(optimizer_of(recording.name(range))) + form, spent.host, ""}};
  if (spent.works > 0) evidence.push_back({counted(spent.works, "kernel", "kernels") + " of it", spent.device, ""});
  return Found{.evidence = std::move(evidence),
               .assumes = {"torch 2.0 or newer (SGD: 2.3); gradients are not clipped or scaled inside the step"},
               .node = range,
               .change = std::move(change)};
}

}  // namespace hotlens::rules
