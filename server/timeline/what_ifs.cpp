// `hotlens/timeline/whatIfs`: what was replayed of changes and what came of them, and the curve of blocks to checkpoint. Nothing is
// replayed here: the ledger and the bundle are read.
#include <algorithm>
#include <cmath>
#include <set>

#include "annotator/advice/ledger.h"
#include "annotator/advice/sweep/kept.h"
#include "annotator/advice/told.h"
#include "annotator/lab/checkpoint/kept.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using profile::Profile;
using protocol::Answer;
using protocol::Json;

constexpr std::size_t kMostOutcomes = 60;

Json ratio_json(const lab::Ratio& time) {
  return {{"ratio", time.ratio}, {"low", time.low}, {"high", time.high}, {"words", lab::spelled(time)}};
}

Json verdict_json(const lab::Verdict& verified) {
  Json json = ratio_json(verified.time);
  json["words"] = lab::spelled(verified);
  if (const std::string_view losses = lab::losses_words(verified); !losses.empty()) json["losses"] = losses;
  return json;
}

// Of a file that the profile names alone: a ledger and a bundle may name any.
void put_place(Json& json, const std::optional<lab::SourceLine>& where, const Profile& profile) {
  if (!where || where->line < 0) return;
  const auto known = std::ranges::find(profile.files, std::filesystem::path(where->file), &profile::SourceFile::path);
  if (known == profile.files.end()) return;
  json["file"] = where->file;
  json["line"] = where->line;
}

const profile::Finding* found(const Profile& profile, const std::string& kind) {
  const auto known = std::ranges::find(profile.findings, kind, &profile::Finding::kind);
  return known == profile.findings.end() ? nullptr : &*known;
}

// Nothing of a kind that nobody knows any more.
std::optional<Json> outcome_json(const std::string& kind, const advice::Told& told, const Profile& profile) {
  const profile::Finding* finding = found(profile, kind);
  const std::string title = finding != nullptr ? finding->title : advice::title_of(kind);
  if (title.empty()) return std::nullopt;
  Json json{{"kind", kind}, {"title", title}, {"assumes", told.assumes}};
  if (told.predicted) json["predicted"] = ratio_json(*told.predicted);
  if (!told.interval.empty()) json["interval"] = told.interval;
  if (told.verified) json["verified"] = verdict_json(*told.verified);
  put_place(json, told.where, profile);
  return json;
}

// Several models of the script as one, as a trial has measured them last.
std::optional<Json> sweep_json(const Profile& profile) {
  const auto tried = profile.folder.empty() ? std::nullopt : sweep::read_kept_sweep(profile.folder, profile.id);
  const bool other_results = tried && !tried->pays && tried->time.faster();
  if (!tried || !tried->refused.empty() || other_results) return std::nullopt;
  Json verified = ratio_json(tried->time);
  verified["words"] = sweep::spelled(*tried);
  return Json{{"kind", "sweep"},
              {"title", "Several runs as one"},
              {"assumes", Json::array({"the runs differ in numbers alone, and each trains a model of the same shapes"})},
              {"verified", std::move(verified)}};
}

// What the ledger says, and what a rule foretells of changes that were never replayed.
Json outcomes_of(const Profile& profile) {
  advice::Tellings told;
  if (!profile.folder.empty()) {
    if (const auto ledger = advice::read_ledger(advice::ledger_of(profile.folder))) told = advice::told_of(*ledger, profile.id);
  }
  for (const profile::Finding& finding : profile.findings) {
    if (!finding.foretold) continue;
    advice::Told& one = told[finding.kind];
    if (!one.predicted) one.predicted = lab::Ratio{finding.foretold->ratio, finding.foretold->low, finding.foretold->high};
  }
  Json list = Json::array();
  if (auto json = sweep_json(profile)) list.push_back(std::move(*json));
  for (const auto& [kind, each] : told) {
    auto json = outcome_json(kind, each, profile);
    if (json && list.size() < kMostOutcomes) list.push_back(std::move(*json));
  }
  return list;
}

Json curve_json(const lab::KeptCheckpoints& kept, const Profile& profile) {
  Json json{{"blocks", kept.curve.blocks}, {"points", Json::array()}};
  if (!kept.refused.empty()) json["refused"] = kept.refused;
  if (!kept.curve.note.empty()) json["note"] = kept.curve.note;
  put_place(json, kept.where, profile);
  for (const lab::CurvePoint& point : kept.curve.points) {
    const lab::Ratio time = point.time.value_or(lab::Ratio{});
    const auto base = static_cast<double>(kept.curve.points.front().step.count());
    Json row{{"blocks", point.blocks},
             {"peak", count(point.peak)},
             {"step", point.step.count()},
             {"low", std::llround(base * time.low)},
             {"high", std::llround(base * time.high)}};
    if (point.time) row["change"] = lab::spelled(*point.time);
    json["points"].push_back(std::move(row));
  }
  return json;
}

// A class of layers that are made of others and come more than once: what may be checkpointed (annotator/lab/whatif/checkpoint.cpp).
bool has_blocks(const Profile& profile) {
  std::set<std::string> seen;
  return std::ranges::any_of(profile.modules, [&](const profile::Module& module) {
    const bool block = module.parent.valid() && !module.same_as.valid() && !module.children.empty();
    return block && !seen.insert(module.class_name).second;
  });
}

bool can_be_replayed(const Profile& profile) {
  const auto manifest = profile::read_manifest(profile.folder);
  return manifest && manifest->program.has_value();
}

}  // namespace

Answer what_ifs(const Opened& opened) {
  const Profile& profile = opened.profile();
  Json answer{{"profile", opened.id()}, {"outcomes", outcomes_of(profile)}, {"edits", false}};
  if (profile.folder.empty()) return answer;
  const auto kept = lab::read_kept_checkpoints(profile.folder, profile.id);
  if (kept) answer["checkpoints"] = curve_json(*kept, profile);
  if ((kept || has_blocks(profile)) && can_be_replayed(profile)) answer["command"] = "hotlens whatif checkpoint " + profile.id;
  return answer;
}

}  // namespace hotlens::timeline_requests
