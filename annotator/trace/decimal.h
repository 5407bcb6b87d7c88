// Decimal microseconds, as text, to whole nanoseconds without a double in between: a double cannot hold 19 digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "annotator/common/units.h"

namespace hotlens::trace {

// "5.25", "-0.001", "1719484261234567.891", "1.5e3", also in quotes; digits below a nanosecond are dropped. Nothing for other text and for
// values that do not fit.
std::optional<Ns> microseconds(std::string_view text);

// An integer, also in quotes and with a fraction that is dropped.
std::optional<std::int64_t> integer(std::string_view text);

}  // namespace hotlens::trace
