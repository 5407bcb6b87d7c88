// Families of kernels and operators by the words in their names.
#pragma once

#include <string_view>

#include "annotator/profile/kernel_name.h"

namespace hotlens::profile {

// `name` in lower case and readable; `own` the kernel's own identifier in it, without scope, arguments and template parameters.
Family kernel_family(std::string_view name, std::string_view own);

// "aten::addmm", in lower case.
Family operator_family(std::string_view name);

}  // namespace hotlens::profile
