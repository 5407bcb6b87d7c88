#include "server/lab/suggestions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "annotator/advice/edits.h"
#include "annotator/advice/ledger.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/spread.h"
#include "server/lab/what_ifs.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using advice::Suggestion;

// The last prediction of each kind, where it promises something.
std::map<std::string, Ratio> promising(const advice::Ledger& ledger, const std::string& profile) {
  std::map<std::string, Ratio> found;
  for (const advice::Record& record : ledger.records) {
    if (record.event != advice::Event::predicted || record.profile != profile || !record.ratio) continue;
    if (kind_named(record.kind) != nullptr) found.insert_or_assign(record.kind, *record.ratio);
  }
  std::erase_if(found, [](const auto& one) { return !advice::promises(one.second); });
  return found;
}

// Where the edit begins; what cannot be edited stands where the bundle knows the change to belong.
std::optional<SourceLine> place_of(const WhatIf& change, const advice::Sources& executed) {
  const auto edits = advice::edits_of(change.parts, executed);
  if (!edits || edits->empty()) return change.where;
  const auto described = advice::described(*edits, executed);
  return SourceLine{described.front().file, described.front().line};
}

std::optional<Suggestion> placed(WhatIf change, const fs::path& bundle, const advice::Sources& executed) {
  const auto place = place_of(change, executed);
  if (!place) return std::nullopt;
  const auto file = std::ranges::find(executed.files, fs::path(place->file), &advice::SourceText::path);
  if (file == executed.files.end()) return std::nullopt;
  auto mark = advice::mark_of(file->text, static_cast<std::uint32_t>(place->line));
  if (!mark) return std::nullopt;
  return Suggestion{.change = std::move(change), .bundle = bundle, .file = file->path, .at = std::move(*mark)};
}

}  // namespace

Result<std::vector<Suggestion>> suggestions(const fs::path& bundle) {
  const auto ledger = advice::read_ledger(advice::ledger_of(bundle));
  if (!ledger) return std::unexpected(ledger.error());
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  const std::map<std::string, Ratio> times = promising(*ledger, manifest->id);
  if (times.empty()) return std::vector<Suggestion>{};
  WhatIfAsk ask{.bundle = bundle, .wanted = {}, .python = {}, .say = [](const std::string&) {}};
  for (const auto& [kind, time] : times) ask.wanted.push_back({kind_named(kind)});
  auto found = ask_what_ifs(ask);
  if (!found) return std::unexpected(found.error());
  const auto executed = advice::read_executed(bundle);
  if (!executed) return std::unexpected(executed.error());
  std::vector<Suggestion> all;
  for (WhatIf& item : found->items) {
    item.time = times.at(item.kind);
    item.step_was = profile::sample(manifest->plain_steps).median;
    item.step = Ns{std::llround(static_cast<double>(item.step_was.count()) * item.time->ratio)};
    if (auto one = placed(std::move(item), bundle, *executed)) all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace hotlens::lab
