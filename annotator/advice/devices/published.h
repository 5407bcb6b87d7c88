// What vendors publish of their devices, for where nobody measured one: bounds that no program reaches.
#pragma once

#include <optional>
#include <string_view>

#include "annotator/advice/devices/row.h"

namespace hotlens::devices {

// By the name that the driver gives the device; nothing for one that is not in the table. Dense rates, without sparsity; f32 without TF32.
std::optional<Row> published(std::string_view name);

}  // namespace hotlens::devices
