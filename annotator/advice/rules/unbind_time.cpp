#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "annotator/advice/rules/dense_scan.h"
#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

using attribution::kNoNode;
using attribution::kNothing;

constexpr std::int64_t kManySteps = 16;  // fewer are as quick either way
constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";

// Selections that may be of one sequence: of one line, and of equal shapes, as far as these are known.
using Key = std::array<std::uint32_t, 2>;

std::optional<Key> key_of(const Recording& recording, std::uint32_t node) {
  Key key{kNothing, kNothing};
  const trace::Inputs& inputs = recording.trace.inputs;
  const auto row = trace::row_of(inputs.event, recording.forest.event[node]);
  if (row && inputs.shapes[*row].valid()) key[0] = inputs.shapes[*row].index;
  const attribution::Owner& owner = recording.owners.of[node];
  if (owner.made_line != kNothing) key[1] = recording.owners.lines.value[owner.made_line];
  return key == Key{kNothing, kNothing} ? std::nullopt : std::optional(key);
}

// What a selection may be of: `x.transpose(0, 1)[t]`, `x[:, t]` of an older torch.
bool is_view(std::string_view node) {
  constexpr auto kViews =
      std::to_array<std::string_view>({"AliasBackward0", "ExpandBackward0", "PermuteBackward0", "SliceBackward0", "SqueezeBackward1",
                                       "TransposeBackward0", "UnsqueezeBackward0", "ViewBackward0"});
  return std::ranges::find(kViews, node) != kViews.end();
}

struct Steps {
  std::int64_t all = 0;               // in the step
  std::int64_t run = 0, longest = 0;  // of one sequence
  std::vector<std::uint32_t> nodes;   // that write and add; of all steps
};

// Counts in the order of the backward pass. Autograd adds a step's gradient to what the steps after it gave the sequence, while it
// evaluates the selection, or the view that was selected from. A selection with nothing to add to is the first of its sequence. One of
// which nothing is known, in steps that differ from one to the next, is of the sequence of the one before it if it is added.
class Sequences {
 public:
  explicit Sequences(const Recording& recording) : recording_(recording) {
    for (std::uint32_t node = 0; node < recording.forest.size(); ++node) read(node, recording.name(node));
    close(false);
  }

  const std::map<Key, Steps>& all() const { return all_; }

 private:
  void read(std::uint32_t node, std::string_view name) {
    if (name.starts_with(kEvaluate)) {
      if (!is_view(name.substr(kEvaluate.size()))) close(false);
      return;
    }
    if (name == "aten::select_backward") return select(node);
    const std::uint32_t parent = recording_.forest.parent[node];
    const bool adds = (name == "aten::add_" || name == "aten::add") && parent != kNoNode && recording_.name(parent).starts_with(kEvaluate);
    if (!adds || open_ == nullptr) return;
    open_->nodes.push_back(node);
    close(true);
  }

  void select(std::uint32_t node) {
    const auto key = key_of(recording_, node);
    if (key) last_ = &all_[*key];
    open_ = last_;
    known_ = key.has_value();
    node_ = node;
  }

  void close(bool added) {
    if (open_ != nullptr && (known_ || added)) {
      const bool counts = recording_.in_step(node_);
      open_->run = added ? open_->run + 1 : 1;
      if (counts) open_->longest = std::max(open_->longest, open_->run);
      if (counts) ++open_->all;
      open_->nodes.push_back(node_);
    }
    open_ = nullptr;
  }

  const Recording& recording_;
  std::map<Key, Steps> all_;
  Steps* open_ = nullptr;  // of a selection that nothing was added to yet
  Steps* last_ = nullptr;  // of the last selection that anything is known of
  bool known_ = false;
  std::uint32_t node_ = kNoNode;
};

// Those of the representative step, in its order.
std::vector<std::uint32_t> selections(const Recording& recording, std::vector<std::uint32_t> nodes) {
  std::erase_if(nodes, [&](std::uint32_t node) { return recording.name(node) != "aten::select_backward" || !recording.in_step(node); });
  std::ranges::sort(nodes, {}, [&](std::uint32_t node) { return recording.forest.start[node]; });
  return nodes;
}

}  // namespace

// Certain: many backward passes of `x[t]`, each of which fills a tensor as large as the whole sequence and is added to what the others
// filled: of one line, or where lines are not known of equal shapes.
std::optional<Found> unbind_time(const Recording& recording) {
  if (!knows(recording, "aten::select_backward")) return std::nullopt;
  const Sequences sequences(recording);
  std::vector<bool> wanted(recording.forest.size());
  const Steps* longest = nullptr;
  for (const auto& [key, steps] : sequences.all()) {
    if (steps.longest <= kManySteps) continue;
    if (longest == nullptr || steps.all > longest->all) longest = &steps;
    for (const std::uint32_t node : steps.nodes) wanted[node] = true;
  }
  if (longest == nullptr) return std::nullopt;
  const Marks filling = marked(recording, [&](std::uint32_t node) { return wanted[node]; });
  const std::uint32_t one = first(recording, filling);
  const std::uint32_t evaluated = one == kNoNode ? kNoNode : recording.forest.parent[one];
  const std::uint32_t creator = evaluated == kNoNode ? kNoNode : recording.forest.creator[evaluated];
  return Found{.evidence = {{"x[t] is differentiated " + std::to_string(longest->all) + " times, each time into the whole sequence",
                             shown(recording, sum(recording, filling)), ""}},
               .assumes = {"the loop takes its steps from x.unbind(dim), whose backward writes the sequence once"},
               .node = creator == kNoNode ? one : creator,
               .change = without(filling),
               .note = dense_scan_note(recording, selections(recording, longest->nodes))};
}

}  // namespace hotlens::rules
