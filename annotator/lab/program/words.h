// The words of a program's document, as decode() reads and encode() writes them (annotator/recorder/FORMAT.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

inline constexpr std::int64_t kFormat = 1;
inline constexpr std::array<std::string_view, 6> kTensorKinds{"parameter", "buffer", "state", "gradient", "input", "other"};
inline constexpr std::array<std::string_view, 5> kStages{"forward", "loss", "zero_grad", "optimizer", "other"};
inline constexpr std::array<const char*, 4> kNamed{"dtype", "device", "layout", "memory_format"};

// Operators whose arguments are numbers of tensors.
inline bool takes_ids(OperatorKind kind) {
  return kind == OperatorKind::free || kind == OperatorKind::clear_gradient || kind == OperatorKind::input ||
         kind == OperatorKind::requires_grad || kind == OperatorKind::block_end;
}

}  // namespace hotlens::lab
