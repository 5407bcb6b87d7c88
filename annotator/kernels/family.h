// Families of kernels and operators by the words in their names.
#pragma once

#include <string_view>

#include "annotator/kernels/kernel_name.h"

namespace hotlens::kernels {

// `name` in lower case and readable; `own` the kernel's own identifier in it, without scope, arguments and template parameters.
Family kernel_family(std::string_view name, std::string_view own);

// "aten::addmm", in lower case.
Family operator_family(std::string_view name);

}  // namespace hotlens::kernels
