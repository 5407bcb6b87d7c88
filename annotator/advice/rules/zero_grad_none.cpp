#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {

using attribution::Stage;

// Certain: gradients are set to zero and backward adds to them. A step of several backward passes needs the additions, so there must be no
// more additions than gradients that were zeroed.
std::optional<Found> zero_grad_none(const Recording& recording) {
  if (!knows(recording, "aten::zero_")) return std::nullopt;
  const attribution::Forest& forest = recording.forest;
  Marks zeroing(forest.size()), adding(forest.size());
  std::int64_t zeroed = 0, added = 0;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const attribution::Owner& owner = recording.owners.of[node];
    const std::string_view name = recording.name(node);
    zeroing[node] = owner.stage == Stage::zero_grad && (name == "aten::zero_" || name == "aten::_foreach_zero_");
    adding[node] = owner.accumulates && name == "aten::add_";
    if (!recording.in_step(node)) continue;
    zeroed += zeroing[node] && name == "aten::zero_" ? 1 : 0;
    added += adding[node] ? 1 : 0;
  }
  if (zeroed == 0 || added == 0 || added > zeroed) return std::nullopt;
  const Marks gone = marked(recording, [&](std::uint32_t node) { return zeroing[node] || adding[node]; });
  const Sum spent = sum(recording, gone);
  return Found{.evidence = {{counted(zeroed, "gradient is", "gradients are") + " set to zero, then added to", shown(recording, spent), ""}},
               .assumes = {"nothing reads a gradient between zero_grad() and backward()"},
               .node = first(recording, zeroing),
               .change = without(gone)};
}

}  // namespace hotlens::rules
