// Whose delay it was, and in what: the rank that came last to a collective compared with the others since all had left the one before.
#pragma once

#include <span>
#include <vector>

#include "annotator/ranks/together.h"

namespace hotlens::ranks {

struct Cause {
  std::uint32_t rank = 0;  // position in RankSet::ranks
  Culprit culprit;
};

class Culprits {
 public:
  // `local`: by rank, its modules as numbers into set.modules. All outlive this.
  Culprits(std::span<const RankRecord> records, const RankSet& set, std::span<const std::vector<std::uint32_t>> local);

  // Of collectives[which].
  Cause of(std::size_t which) const { return follow(which, kFollowed); }

 private:
  static constexpr int kFollowed = 8;  // from group to group

  struct Window {
    std::uint32_t rank = 0;
    std::size_t begin = 0, end = 0;  // intervals
  };

  Cause follow(std::size_t which, int left) const;
  bool is_before(const Shared& one, const Shared& shared) const;
  std::vector<Window> windows(std::size_t which) const;
  Culprit explain(const std::vector<Window>& windows, std::uint32_t last, Ns late) const;
  std::vector<Spent> sums(const Window& window) const;
  void deepen(const std::vector<Spent>& excess, Culprit& culprit) const;
  std::optional<std::size_t> waited_most(const Window& window) const;

  std::span<const RankRecord> records_;
  const RankSet& set_;
  std::span<const std::vector<std::uint32_t>> local_;
  std::vector<std::vector<std::size_t>> shared_of_;  // by rank: the collectives it took part in, by time
};

}  // namespace hotlens::ranks
