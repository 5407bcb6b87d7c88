// Programs that start a training script, several times perhaps: torchrun and its like.
//
// The recorder starts them as modules and records the workers (annotator/recorder/hotlens/run/workers.py). No other program can be one:
// what it started would not be recorded.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::runs {

// `torchrun --nproc_per_node 2`, `accelerate launch`, `python -m torch.distributed.run` as "-m", the module and its arguments; nothing for
// an empty line. The error is the end of a sentence: "must be `torchrun …`, …".
Result<std::vector<std::string>> launcher_command(std::string_view line, std::string_view home = "");

}  // namespace hotlens::runs
