// Another optimizer, or other options of it: `SGD(model.parameters(), lr=0.1)` becomes `AdamW(model.parameters(), lr=1e-3)`.
//
// Read from the text: SGD, Adam and AdamW of torch.optim, and what each option says that decides which operators an update has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/layers/match/plain.h"

namespace hotlens::layers {

// Absent options stay what the recorded update shows of each parameter.
struct OptimizerEdit {
  bool was_adam = false, adam = false, decoupled = false;  // decoupled: AdamW's weight decay
  std::optional<double> weight_decay, momentum;
  std::optional<bool> nesterov, amsgrad, maximize;
  std::optional<bool> lists, fused;  // absent: as recorded
  std::vector<bool> calls = {};      // of step() in the order of the text: whether they are this optimizer's; empty: all are
  std::string what;                  // "SGD → AdamW"
  Line at;                           // in the edited text
};

// Each text has the executed one's optimizers then.
TakenOut<OptimizerEdit> without_optimizers(const Sources& executed, const Sources& edited);

}  // namespace hotlens::layers
