// Where each module may have been made: what its calls allow, and the line that all of them share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "annotator/guess/python/evaluator.h"

namespace hotlens::guess {

struct PlacedModule {
  std::optional<Spot> attached, constructed;  // as Module's
  std::optional<Node> type;                   // the class statement
  bool by_line = false;                       // the trace's lines fit the source; else only names did
};

class PlaceCandidates {
 public:
  // `evaluator` must outlive it.
  PlaceCandidates(const Evaluator& evaluator, std::size_t modules) : evaluator_(evaluator), known_(modules) {}

  // A call of a module that may be any of `places`; of several calls only what all allow stays.
  void note(std::uint32_t module, const std::vector<ValueId>& places);
  // Sets the lines on which all candidates of a module stand, where they stand on one.
  void settle(std::uint32_t module, PlacedModule& to) const;

 private:
  bool same_spot(ValueId a, ValueId b) const;
  std::vector<ValueId> names(ValueId place) const;

  const Evaluator& evaluator_;
  std::vector<std::vector<ValueId>> known_;
};

}  // namespace hotlens::guess
