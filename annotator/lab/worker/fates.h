// What a step does to the storages that were there before it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <optional>
#include <vector>

#include "annotator/lab/program/program.h"
#include "annotator/lab/worker/before.h"

namespace hotlens::lab {

// Of an operator; none for our own. What its passes have inside has them as well.
struct Handle {
  std::optional<c10::OperatorHandle> own;
  std::vector<Handle> forward, backward;
};
using Handles = std::vector<Handle>;

// By storage number. Views are followed by what the schemas say of them.
std::map<std::int64_t, Fate> fates_of(const Program& program, const Handles& handles);

}  // namespace hotlens::lab
