#include "annotator/advice/devices/row.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/common/harmless.h"
#include "annotator/common/json_member.h"

namespace hotlens::devices {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "hotlens.device/1";
constexpr std::size_t kMostText = 1 << 20;

double rate_of(const json& object, const char* key) {
  const auto found = object.find(key);
  const double value = found != object.end() && found->is_number() ? found->get<double>() : 0;
  return std::isfinite(value) && value > 0 ? value : 0;
}

Error no_row(std::string_view where, const std::string& why) {
  return {ErrorCode::malformed,
          std::string(where) + " is no measurement of a device (" + why + "); make one with hotlens bench-device --out FILE",
          std::string(where)};
}

}  // namespace

std::optional<double> Row::rate(std::string_view what, std::string_view type) const {
  for (const std::string_view wanted : {type, std::string_view("f32")}) {
    const auto found = flops_per_s.find({std::string(what), std::string(wanted)});
    if (found != flops_per_s.end()) return found->second;
  }
  return std::nullopt;
}

Result<Row> parse(std::string_view document, std::string_view where) {
  const json object = json::parse(document, nullptr, false);
  if (!object.is_object() || text_member(object, "schema") != kSchema)
    return std::unexpected(no_row(where, "its schema is not hotlens.device/1"));
  Row row{.name = text_member(object, "name"),
          .kind = text_member(object, "kind"),
          .torch = text_member(object, "torch"),
          .measured = text_member(object, "measured"),
          .flops_per_s = {}};
  const auto threads = object.find("threads");
  if (threads != object.end() && threads->is_number_integer()) row.threads = threads->get<std::int64_t>();
  const auto peaks = object.find("peaks");
  if (peaks != object.end() && peaks->is_array()) {
    for (const json& peak : *peaks) {
      if (!peak.is_object()) continue;
      if (text_member(peak, "what") == "copy") row.copy_bytes_per_s = rate_of(peak, "bytes_per_s");
      if (const double rate = rate_of(peak, "flops_per_s"); rate > 0)
        row.flops_per_s[{text_member(peak, "what"), text_member(peak, "type")}] = rate;
    }
  }
  if (row.copy_bytes_per_s <= 0 || !row.rate("gemm", "f32")) return std::unexpected(no_row(where, "a copy or a product in f32 is missing"));
  return row;
}

Result<Row> read(const std::filesystem::path& file) {
  const auto document = read_file(file, kMostText);
  if (!document) return std::unexpected(Error{ErrorCode::unreadable, file.string() + " cannot be read", file.string()});
  return parse(*document, file.string());
}

std::string label(const Row& row) {
  const std::string name = harmless(row.name);
  return row.threads > 0 ? fmt::format("{}, {} {}", name, row.threads, row.threads == 1 ? "thread" : "threads") : name;
}

std::string as_text(const Row& row) {
  std::string out = fmt::format("{}, torch {}, measured {}\n", label(row), harmless(row.torch), harmless(row.measured));
  for (const auto& [what, rate] : row.flops_per_s) {
    out += fmt::format("  {:<12} {:<5} {:>8.3g} TFLOP/s\n", harmless(what.first), harmless(what.second), rate / 1e12);
  }
  return out + fmt::format("  {:<18} {:>8.3g} GB/s, read and written\n", "copy", row.copy_bytes_per_s / 1e9);
}

}  // namespace hotlens::devices
