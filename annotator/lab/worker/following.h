// An edited program's first step beside the recorded one: literal sizes follow the tensors around them, and what the script keeps from the
// step before has the size of what it keeps of this one.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "annotator/lab/program/follow.h"
#include "annotator/lab/program/program.h"
#include "annotator/lab/worker/arguments.h"

namespace hotlens::lab {

struct Followed {
  std::vector<Numbers> numbers;    // of each module, and of the script
  std::vector<Numbers> cuts;       // of them, see Around
  std::vector<Numbers> attention;  // see Around; of every other module empty
  std::vector<TensorId> recorded;  // of each tensor of the edited program: which it was; empty: the same
};

class Following {
 public:
  Following(const Program& recorded, Program& edited, const Followed& what);

  // Before an operator of the recorded program; null after its last one.
  void see(const Operator* op, const Bindings& bindings);
  // The same of the edited one, whose operator may change. Throws Unfollowed.
  void change(Operator* op, const Bindings& bindings);

  std::size_t changed() const { return changed_; }

 private:
  TensorId was(TensorId id) const;
  // As recorded and now.
  std::vector<std::pair<Sizes, Sizes>> sizes_of(const std::vector<TensorId>& ids, const Bindings& bindings) const;
  void note_sizes(std::size_t module, const std::vector<std::pair<Sizes, Sizes>>& all);
  bool is_held(const Operator& op, TensorId first);
  bool is_explained(std::size_t module, const Sizes& was, const Sizes& is) const;
  void resize_kept(const Bindings& bindings);
  void refuse_given(const Operator& op, const Bindings& bindings) const;

  const Program& recorded_;
  Program& edited_;
  const Followed& what_;
  using Changes = std::map<std::size_t, std::set<std::pair<std::int64_t, std::int64_t>>>;  // as recorded, now
  Changes around_;                                                                         // sizes used in a module and below it
  Changes leading_;                                                                        // of first dimensions of several
  std::map<std::size_t, std::vector<std::size_t>> holders_;                                // of a module, with itself
  std::set<TensorId> given_;                                                               // by Python, within a module
  std::set<TensorId> parts_;                                                               // of parameters and buffers
  std::map<TensorId, Sizes> sizes_;                                                        // as recorded
  std::map<TensorId, std::pair<Sizes, at::ScalarType>> left_;  // what operators made and the recorded step keeps
  const Operator *seen_last_ = nullptr, *last_ = nullptr;      // of the recorded program, of the edited one
  std::size_t changed_ = 0;
};

}  // namespace hotlens::lab
