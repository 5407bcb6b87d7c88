#include "annotator/advice/sweep/kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/common/format.h"
#include "annotator/common/json_member.h"

namespace hotlens::sweep {
namespace {

using nlohmann::json;

constexpr std::size_t kMostKept = std::size_t{1} << 20;  // of the file
constexpr std::size_t kMostReason = 1000;                // characters
constexpr std::int64_t kMostModels = 1000;

// Nullopt of what was not measured, or cannot be.
std::optional<Tried> kept_attempt(const json& row) {
  if (!row.is_object() || !row.contains("speedup") || !row.at("models").is_number_integer()) return std::nullopt;
  const double speedup = row.at("speedup").get<double>(), low = row.at("low").get<double>(), high = row.at("high").get<double>();
  if (!(speedup > 0) || !(low > 0) || !(high > 0)) return std::nullopt;
  Tried made{.refused = {}, .models = row.at("models").get<std::int64_t>(), .pays = row.value("pays", false), .time = {}};
  made.time = lab::Ratio{.ratio = 1 / speedup, .low = 1 / high, .high = 1 / low};
  return made.models > 1 && made.models <= kMostModels && lab::is_possible(made.time) ? std::optional(made) : std::nullopt;
}

bool is_better(const Tried& one, const Tried& other) {
  return one.pays != other.pays ? one.pays : one.time.ratio < other.time.ratio;
}

std::string first_reason(const json& attempts) {
  for (const json& row : attempts) {
    if (row.is_object() && row.contains("failed")) return text_member(row.at("failed"), "reason").substr(0, kMostReason);
  }
  return "the time limit was reached before anything was measured";
}

std::optional<Tried> tried_of(const json& document) {
  if (!document.contains("tried")) return std::nullopt;
  const json& trial = document.at("tried");
  if (std::string why = text_member(trial, "refused"); !why.empty()) return Tried{.refused = why.substr(0, kMostReason), .time = {}};
  std::optional<Tried> best;
  for (const json& row : trial.at("attempts")) {
    auto one = kept_attempt(row);
    if (one && (!best || is_better(*one, *best))) best = std::move(one);
  }
  return best ? best : Tried{.refused = first_reason(trial.at("attempts")), .time = {}};
}

}  // namespace

std::filesystem::path kept_sweep(const std::filesystem::path& bundle) {
  return bundle / "sweep.json";
}

std::optional<Tried> tried_in(std::string_view text, const std::string& profile) {
  try {
    const json document = json::parse(text);
    if (text_member(document, "schema") != "hotlens.sweep/1" || text_member(document, "profile") != profile) return std::nullopt;
    return tried_of(document);
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::optional<Tried> read_kept_sweep(const std::filesystem::path& bundle, const std::string& profile) {
  const auto text = read_file_inside(bundle, kept_sweep(bundle), kMostKept);
  return text ? tried_in(*text, profile) : std::nullopt;
}

std::string spelled(const Tried& tried) {
  if (!tried.refused.empty()) return "several models as one were not measured: " + tried.refused;
  return fmt::format("{} as one take {:.2f} of the time of one after another ({:.2f} to {:.2f}){}",
                     format::counted(tried.models, "model", "models"), tried.time.ratio, tried.time.low, tried.time.high,
                     tried.pays ? "" : ": it does not pay");
}

}  // namespace hotlens::sweep
