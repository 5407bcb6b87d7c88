// The distinct modules (or lines) around one piece of time.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/timeline/owners.h"

namespace hotlens::profile {

// Innermost first. Re-used for every piece: no allocation in the loop.
class Stack {
 public:
  explicit Stack(std::size_t things) : stamp_(things, 0) {}

  void begin() {
    ++now_;
    members_.clear();
  }

  // Adds what the executions from `link` outwards are of; with `tree_parent` also what holds those in the module tree.
  void add(const timeline::Chains& chains, std::uint32_t link, const std::vector<std::uint32_t>* tree_parent) {
    for (; link != timeline::kNothing; link = chains.parent[link]) {
      for (std::uint32_t thing = chains.value[link]; thing != timeline::kNothing; thing = (*tree_parent)[thing]) {
        if (thing >= stamp_.size() || stamp_[thing] == now_) break;
        stamp_[thing] = now_;
        members_.push_back(thing);
        if (!tree_parent) break;
      }
    }
  }

  const std::vector<std::uint32_t>& members() const { return members_; }

 private:
  std::vector<std::uint32_t> stamp_;
  std::vector<std::uint32_t> members_;
  std::uint32_t now_ = 0;
};

}  // namespace hotlens::profile
