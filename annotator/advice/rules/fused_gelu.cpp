#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

using attribution::Kind;
using attribution::kNoNode;

constexpr std::size_t kLongest = 8;  // operators from x³ to tanh, in the spellings that were seen

bool is_outermost(const attribution::Forest& forest, std::uint32_t node) {
  if (forest.kind[node] != Kind::op) return false;
  const std::uint32_t parent = forest.parent[node];
  return parent == kNoNode || forest.kind[parent] != Kind::op;
}

bool is_factor(std::string_view name) {
  return name == "aten::mul" || name == "aten::add" || name == "aten::div";
}

// Operators of 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), from x³ on.
struct Formula {
  std::vector<std::uint32_t> operators;
};

std::vector<Formula> formulas(const Recording& recording) {
  const attribution::Forest& forest = recording.forest;
  std::vector<Formula> found;
  for (const attribution::Forest::Thread& thread : forest.threads) {
    std::vector<std::uint32_t> open;  // from x³ on
    bool bent = false;                // tanh was met
    std::size_t after = 0;            // operators behind it
    const auto close = [&] {
      if (bent && after == 2) found.push_back({open});
      open.clear();
      bent = false;
      after = 0;
    };
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      if (!is_outermost(forest, node)) continue;
      const std::string_view name = recording.name(node);
      if (name == "aten::pow") {
        close();
        open = {node};
      } else if (open.empty() || (!bent && open.size() > kLongest)) {
        close();
      } else if (name == "aten::tanh" && !bent) {
        bent = true;
        open.push_back(node);
      } else if (is_factor(name)) {
        open.push_back(node);
        after += bent ? 1 : 0;
        if (after == 2) close();
      } else {
        close();
      }
    }
    close();
  }
  return found;
}

}  // namespace

// Certain: the formula of GELU's tanh form, operator by operator. The fused operator computes the same.
std::optional<Found> fused_gelu(const Recording& recording) {
  if (!knows(recording, "aten::pow") || !knows(recording, "aten::tanh")) return std::nullopt;
  std::vector<bool> part(recording.forest.size());
  std::int64_t in_step = 0;
  std::uint32_t one = kNoNode;
  for (const Formula& formula : formulas(recording)) {
    for (const std::uint32_t node : formula.operators) part[node] = true;
    if (!recording.in_step(formula.operators.front())) continue;
    if (one == kNoNode) one = formula.operators.front();
    ++in_step;
  }
  if (in_step == 0) return std::nullopt;
  const Marks gone = with_backward(recording, marked(recording, [&](std::uint32_t node) { return part[node]; }));
  return Found{.evidence = {{"GELU as a formula, " + counted(in_step, "time", "times"), shown(recording, sum(recording, gone)), ""}},
               .assumes = {"F.gelu(x, approximate=\"tanh\") in its place"},
               .node = one,
               .change = without(gone)};
}

}  // namespace hotlens::rules
