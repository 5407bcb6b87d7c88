#include "annotator/attribution/owners/call_tree.h"

#include <map>
#include <optional>
#include <utility>

namespace hotlens::attribution {
namespace {

class Builder {
 public:
  Builder(const Chains& calls, std::span<const std::uint32_t> parents) : calls_(calls), parents_(parents) {
    for (std::uint32_t module = 0; module < parents.size(); ++module) add(module, parents[module]);
  }

  CallTree run() && {
    tree_.row_of_call.assign(calls_.value.size(), kNothing);
    std::vector<std::uint32_t> later;
    for (std::uint32_t call = 0; call < calls_.value.size(); ++call) {
      if (const auto row = row_of(call)) {
        tree_.row_of_call[call] = *row;
      } else {
        later.push_back(call);
      }
    }
    for (const std::uint32_t call : later) tree_.row_of_call[call] = row_of_repetition(call);
    return std::move(tree_);
  }

 private:
  // Nothing for what runs again somewhere, and what that calls: its module may have a row by the time all calls are seen.
  std::optional<std::uint32_t> row_of(std::uint32_t call) {
    const std::uint32_t module = calls_.value[call], around = calls_.parent[call], repeated = calls_.repeats[call];
    if (repeated != kNothing || around != kNothing) {
      const std::uint32_t row = tree_.row_of_call[repeated != kNothing ? repeated : around];
      if (row == kNothing) return std::nullopt;
      return repeated != kNothing ? row : below(row, module);
    }
    if (module < parents_.size()) return module;
    return calls_.again[call] ? std::nullopt : std::optional(child(kNothing, module));
  }

  std::uint32_t row_of_repetition(std::uint32_t call) {
    const std::uint32_t module = calls_.value[call];
    if (calls_.repeats[call] != kNothing) return tree_.row_of_call[calls_.repeats[call]];
    if (calls_.parent[call] != kNothing) return below(tree_.row_of_call[calls_.parent[call]], module);
    const auto known = first_.find(module);
    return known != first_.end() ? known->second : child(kNothing, module);
  }

  // The row of `module` when it is called inside `row`: through the containers between them, which nobody calls, else right below its
  // caller.
  std::uint32_t below(std::uint32_t row, std::uint32_t module) {
    std::vector<std::uint32_t> way(1, module);
    for (std::uint32_t up = module; up < parents_.size(); way.push_back(up)) {
      up = parents_[up];
      if (up == tree_.rows[row].module) {
        for (; !way.empty(); way.pop_back()) row = child(row, way.back());
        return row;
      }
    }
    return child(row, module);
  }

  std::uint32_t child(std::uint32_t row, std::uint32_t module) {
    if (const auto known = rows_.find({row, module}); known != rows_.end()) return known->second;
    while (row != kNothing && depth_[row] >= kDeepest) row = tree_.rows[row].parent;
    const auto beside = rows_.find({row, module});
    return beside != rows_.end() ? beside->second : add(module, row);
  }

  std::uint32_t add(std::uint32_t module, std::uint32_t parent) {
    const auto row = static_cast<std::uint32_t>(tree_.rows.size());
    tree_.rows.push_back({module, parent, first_.try_emplace(module, row).first->second});
    depth_.push_back(parent == kNothing ? 1 : depth_[parent] + 1);
    rows_.try_emplace({parent, module}, row);
    return row;
  }

  const Chains& calls_;
  std::span<const std::uint32_t> parents_;
  CallTree tree_;
  std::vector<std::uint32_t> depth_;                                       // by row
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> rows_;  // by parent row and module
  std::map<std::uint32_t, std::uint32_t> first_;                           // by module
};

}  // namespace

CallTree call_tree(const Chains& calls, std::span<const std::uint32_t> parents) {
  return Builder(calls, parents).run();
}

}  // namespace hotlens::attribution
