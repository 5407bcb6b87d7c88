// Losses of torch that are the mean over the samples of a batch.
#pragma once

#include "annotator/advice/edits/syntax.h"

namespace hotlens::advice {

// `F.cross_entropy(…)`, or `criterion(…)` where only `nn.CrossEntropyLoss()` is called so: each sample counts alike.
bool is_mean_loss(const PythonText& text, const Call& call);

}  // namespace hotlens::advice
