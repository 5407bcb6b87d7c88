// The distinct modules (or lines) around one piece of time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

// Re-used for every piece: no allocation in the loop, and none of the walk where the next piece belongs to the same executions.
class Stack {
 public:
  // Of executions in `chains` of one of `things`; with `tree_parent` also what holds those in the module tree. All must outlive this.
  Stack(const Chains& chains, std::size_t things, const std::vector<std::uint32_t>* tree_parent = nullptr)
      : chains_(chains), tree_parent_(tree_parent), stamp_(things, 0) {}

  // What the executions from `link` outwards are of, innermost first, then those from `other` outwards. Valid until the next call.
  const std::vector<std::uint32_t>& around(std::uint32_t link, std::uint32_t other = kNothing) {
    const std::pair asked(link, other);
    if (asked == known_) return members_;
    known_ = asked;
    ++now_;
    members_.clear();
    add(link);
    add(other);
    return members_;
  }

  const std::vector<std::uint32_t>& members() const { return members_; }

 private:
  void add(std::uint32_t link) {
    for (; link != kNothing; link = chains_.parent[link]) {
      for (std::uint32_t thing = chains_.value[link]; thing != kNothing; thing = (*tree_parent_)[thing]) {
        if (thing >= stamp_.size() || stamp_[thing] == now_) break;
        stamp_[thing] = now_;
        members_.push_back(thing);
        if (!tree_parent_) break;
      }
    }
  }

  const Chains& chains_;
  const std::vector<std::uint32_t>* tree_parent_;
  std::vector<std::uint32_t> stamp_;
  std::vector<std::uint32_t> members_;
  std::pair<std::uint32_t, std::uint32_t> known_{kNothing, kNothing};  // what members_ are of: at first nothing
  std::uint32_t now_ = 0;
};

// The modules whose time `owner` is.
inline const std::vector<std::uint32_t>& modules_of(const Owner& owner, Stack& modules) {
  return modules.around(owner.works_for_module() ? owner.call : kNothing);
}

}  // namespace hotlens::attribution
