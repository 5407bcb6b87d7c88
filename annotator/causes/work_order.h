// Device work in the order in which it can hold other work up: on its stream, and by its end.
//
// Times are the recording's. Cost: two sorts; a question is O(log work).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "annotator/attribution/account/account.h"

namespace hotlens::causes {

class WorkOrder {
 public:
  // `work`, by start, must outlive this; what lies before `first` is left out.
  WorkOrder(std::span<const attribution::Work> work, std::uint32_t first);

  std::uint32_t first() const { return first_; }
  std::size_t size() const { return before_.size(); }

  // The work before it on its stream; kNoNode where there is none.
  std::uint32_t before(std::uint32_t at) const { return before_[at - first_]; }
  // The work that ends last within (after, until]; kNoNode where there is none.
  std::uint32_t ending_within(Ns after, Ns until) const;

  // What a piece of work had to wait for.
  struct Needs {
    std::uint32_t before = attribution::kNoNode;  // on its stream
    std::uint32_t other = attribution::kNoNode;   // elsewhere, which ended right before it began though it could have begun sooner
    bool launch_known = false;
    Ns free{}, launched{};  // when its stream was free, and when its launch began; `otherwise` where they are not known
  };
  Needs needs(std::uint32_t at, Ns otherwise) const;

 private:
  std::span<const attribution::Work> work_;
  std::uint32_t first_;
  std::vector<std::uint32_t> before_;  // by work, from first_ on
  std::vector<std::uint32_t> by_end_;
};

}  // namespace hotlens::causes
