// What a device reaches at its best, usually measured by `hotlens bench-device`: one JSON object (hotlens.device/1,
// annotator/report/FORMATS.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "annotator/common/error.h"

namespace hotlens::devices {

struct Row {
  std::string name, kind, torch, measured;                            // kind: "cpu", "cuda", "hip"; measured: UTC
  std::int64_t threads = 0;                                           // of a CPU
  std::map<std::pair<std::string, std::string>, double> flops_per_s;  // by what ("gemm", "convolution") and type ("f32", "bf16")
  double copy_bytes_per_s = 0;
  bool published = false;  // by its vendor (published.h), not measured

  // Of this type, else of f32; nullopt where neither was measured.
  std::optional<double> rate(std::string_view what, std::string_view type) const;
};

// `where` names the text in messages. A row without a copy or a product in f32 is an error: nothing could be compared.
Result<Row> parse(std::string_view json, std::string_view where);
Result<Row> read(const std::filesystem::path& file);

std::string label(const Row& row);  // "AMD EPYC, 2 threads"
std::string as_text(const Row& row);

}  // namespace hotlens::devices
