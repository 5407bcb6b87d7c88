// One edit of a recorded step, tried in a worker: what it takes, and what it needs of memory.
//
// While somebody types, each different call of both steps runs once first (annotator/lab/worker/samples.h), which follows the sizes and
// tells the time early. Then the steps take turns as a whole. One turn of a long step tells its memory; its time are the samples'.
#pragma once

#include <filesystem>
#include <optional>

#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/predict/recorded.h"
#include "server/lab/candidates.h"
#include "server/lab/edited.h"
#include "server/lab/replayable.h"
#include "server/lab/worker.h"

namespace hotlens::lab {

class EditTrial {
 public:
  // `program`: of the worker, which starts where somebody types: it loads its libraries while the texts are compared.
  EditTrial(const EditedAsk& ask, const Recorded& recorded, std::filesystem::path program);

  // Layers that were edited: literal sizes of operators follow those of their tensors. The error: the recorded step cannot be replayed.
  Result<void> run(const layers::Rewritten& rewritten, const layers::Changes& changes, EditedStep& step);
  // A what-if.
  Result<void> run(const Candidate& candidate, EditedStep& step);

 private:
  std::optional<Ratio> sampled(nlohmann::json followed);
  void tell_first(const Ratio& ratio, EditedStep step) const;
  Result<void> replayed_in_turn(const Ratio& sampled, EditedStep& step);
  // `follow`: what becomes of the edited step before it is timed; why it is refused.
  template <class Follow>
  Result<void> run(const Follow& follow, double error, EditedStep& step);
  std::int64_t batch() const;
  Ns plain_step() const;
  int quick_rounds() const;
  bool is_long() const;
  void tell(const Replays& recorded, const Replays& edited, double error, EditedStep& step) const;
  void tell_time(const Ratio& replayed, EditedStep& step) const;

  const EditedAsk& ask_;
  const Recorded& recorded_;
  Worker worker_;
};

}  // namespace hotlens::lab
