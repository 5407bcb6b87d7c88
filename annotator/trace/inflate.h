// Gzip, also with several members and cut short.
#pragma once

#include <string_view>

#include "annotator/common/error.h"
#include "annotator/trace/bytes.h"

namespace hotlens::trace {

bool is_gzip(std::string_view bytes);

// Every byte that can be inflated; a file cut short gives what is whole and an issue, an error only when that is nothing.
Result<PaddedBytes> inflated(std::string_view bytes, std::string_view where, Issues& issues);

}  // namespace hotlens::trace
