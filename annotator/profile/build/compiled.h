// From an annotated trace to what it says of compiled code.
#pragma once

#include <memory>

#include "annotator/profile/build/annotated.h"
#include "annotator/profile/compiled.h"

namespace hotlens::profile {

// Of the step at position `step`; null where neither the trace nor the bundle knows of compiled code.
std::shared_ptr<const Compiled> compiled_code(const Annotated& annotated, std::size_t step);

}  // namespace hotlens::profile
