// Where each module may have been made: what its calls allow, and the line that all of them share.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/profile/skeleton_match.h"
#include "annotator/source/evaluator.h"

namespace hotlens::profile {

class PlaceCandidates {
 public:
  // `evaluator` must outlive it.
  PlaceCandidates(const source::Evaluator& evaluator, std::size_t modules) : evaluator_(evaluator), known_(modules) {}

  // A call of a module that may be any of `places`; of several calls only what all allow stays.
  void note(std::uint32_t module, const std::vector<source::ValueId>& places);
  // Sets the lines on which all candidates of a module stand, where they stand on one.
  void settle(std::uint32_t module, PlacedModule& to) const;

 private:
  std::vector<source::ValueId> holders(source::ValueId place) const;
  bool stands_before(source::ValueId other, source::ValueId place) const;
  bool same_spot(source::ValueId a, source::ValueId b) const;
  source::ValueId named(source::ValueId place, const std::vector<source::ValueId>& all) const;

  const source::Evaluator& evaluator_;
  std::vector<std::vector<source::ValueId>> known_;
};

}  // namespace hotlens::profile
