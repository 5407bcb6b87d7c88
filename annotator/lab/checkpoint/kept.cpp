#include "annotator/lab/checkpoint/kept.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/common/json_member.h"

namespace hotlens::lab {
namespace {

using nlohmann::json;

constexpr std::string_view kKind = "checkpoint";
constexpr std::size_t kMostKept = std::size_t{256} << 10;  // of the file
constexpr std::size_t kMostChoices = 32, kMostBlocks = 1000, kMostPath = 1000;
constexpr std::int64_t kMostPeak = std::int64_t{1} << 50;  // bytes: a petabyte
constexpr std::int64_t kMostStep = std::int64_t{1} << 50;  // ns: thirteen days
constexpr std::int64_t kMostLine = 100'000'000;

bool can_be(const CurvePoint& point) {
  const bool sized = point.peak > Bytes{} && count(point.peak) <= kMostPeak && point.blocks.size() <= kMostBlocks;
  const bool named = std::ranges::all_of(point.blocks, [](const std::string& path) { return path.size() <= kMostPath; });
  return sized && named && point.step > Ns{} && point.step.count() <= kMostStep && (!point.time || is_possible(*point.time));
}

// -1 where it is no whole number: a cast of any other one may be undefined.
std::int64_t whole(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_number_integer() ? value.get<std::int64_t>() : -1;
}

CurvePoint point_of(const json& row) {
  CurvePoint point{.blocks = row.at("blocks"), .peak = Bytes{whole(row, "peak_bytes")}, .step = Ns{whole(row, "step_ns")}, .time = {}};
  if (!point.blocks.empty()) point.time = Ratio{row.at("ratio"), row.at("low"), row.at("high")};
  return point;
}

// The unchanged step first, then by their peaks, each with a lower one.
std::vector<CurvePoint> points_of(const json& rows) {
  std::vector<CurvePoint> points;
  for (const json& row : rows) {
    CurvePoint point = point_of(row);
    const bool first = points.empty(), unchanged = point.blocks.empty();
    if (!can_be(point) || first != unchanged || points.size() == kMostChoices) continue;
    if (!first && point.peak >= points.back().peak) continue;
    points.push_back(std::move(point));
  }
  // Their times are told beside the first one: they follow from it and the ratios.
  for (CurvePoint& point : points) {
    if (point.time) point.step = Ns{std::llround(static_cast<double>(points.front().step.count()) * point.time->ratio)};
  }
  return points;
}

std::string short_text(const json& object, const char* key) {
  std::string text = text_member(object, key);
  return text.size() <= kMostPath ? text : std::string();
}

std::optional<SourceLine> place_of(const json& item) {
  if (!item.contains("file")) return std::nullopt;
  SourceLine place{.file = short_text(item, "file"), .line = whole(item, "line")};
  const bool told = !place.file.empty() && place.line >= 0 && place.line <= kMostLine;
  return told ? std::optional(std::move(place)) : std::nullopt;
}

const json* of_kind(const json& list, std::string_view kind) {
  const auto found = std::ranges::find_if(list, [&](const json& each) { return text_member(each, "kind") == kind; });
  return found == list.end() ? nullptr : &*found;
}

// Nothing of what is no form of the optimizer, or lowers nothing.
std::optional<WhatIf> instead_of(const json& refused, const json& items) {
  const Kind* kind = kind_named(text_member(refused, "instead"));
  const json* item = kind != nullptr && kind->where == Where::optimizer ? of_kind(items, kind->name) : nullptr;
  if (item == nullptr) return std::nullopt;
  WhatIf change{
      .kind = std::string(kind->name), .title = std::string(kind->title), .evidence = {}, .assumes = {}, .modules = {}, .parts = {}};
  change.parts.push_back({.kind = change.kind, .modules = {}});
  change.time = Ratio{item->at("ratio"), item->at("low"), item->at("high")};
  change.step_was = Ns{whole(*item, "step_was_ns")};
  change.peak_was = Bytes{whole(*item, "peak_was_bytes")};
  change.peak = Bytes{whole(*item, "peak_bytes")};
  const bool can_be = is_possible(*change.time) && change.step_was > Ns{} && change.step_was.count() <= kMostStep &&
                      change.peak > Bytes{} && change.peak < change.peak_was && count(change.peak_was) <= kMostPeak;
  if (!can_be) return std::nullopt;
  change.step = Ns{std::llround(static_cast<double>(change.step_was.count()) * change.time->ratio)};
  return change;
}

std::optional<KeptCheckpoints> kept_of(const json& document) {
  if (const json* refused = of_kind(document.at("refused"), kKind)) {
    KeptCheckpoints kept{.curve = {}, .refused = short_text(*refused, "reason"), .where = {}};
    kept.instead = instead_of(*refused, document.at("items"));
    return kept.refused.empty() ? std::nullopt : std::optional(std::move(kept));
  }
  const json* item = of_kind(document.at("items"), kKind);
  if (item == nullptr || !item->contains("curve")) return std::nullopt;
  const json& curve = item->at("curve");
  KeptCheckpoints kept{.curve = {}, .refused = {}, .where = place_of(*item)};
  kept.curve.points = points_of(curve.at("points"));
  kept.curve.blocks = static_cast<std::size_t>(whole(curve, "blocks"));
  kept.curve.note = short_text(curve, "note");
  const bool counted = kept.curve.blocks <= kMostBlocks && std::ranges::all_of(kept.curve.points, [&](const CurvePoint& point) {
                         return point.blocks.size() <= kept.curve.blocks;
                       });
  return counted && kept.curve.points.size() > 1 ? std::optional(std::move(kept)) : std::nullopt;
}

}  // namespace

std::filesystem::path kept_checkpoints(const std::filesystem::path& bundle) {
  return bundle / "checkpoints.json";
}

std::string checkpoints_to_keep(const WhatIfs& all) {
  WhatIfs kept;
  kept.profile = all.profile;
  kept.check = all.check;
  kept.faults = all.faults;
  std::ranges::copy_if(all.refused, std::back_inserter(kept.refused), [](const NotThis& refused) { return refused.kind == kKind; });
  std::ranges::copy_if(all.items, std::back_inserter(kept.items), [&](const WhatIf& item) {
    return item.curve || std::ranges::find(kept.refused, item.kind, &NotThis::instead) != kept.refused.end();
  });
  return kept.items.empty() && kept.refused.empty() ? std::string() : as_json(kept);
}

std::optional<KeptCheckpoints> read_kept_checkpoints(const std::filesystem::path& bundle, const std::string& profile) {
  const auto text = read_file_inside(bundle, kept_checkpoints(bundle), kMostKept);
  if (!text) return std::nullopt;
  try {
    const json document = json::parse(*text);
    if (text_member(document, "schema") != "hotlens.whatif/1" || text_member(document, "profile") != profile) return std::nullopt;
    return kept_of(document);
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace hotlens::lab
