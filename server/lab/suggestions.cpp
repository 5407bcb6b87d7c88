#include "server/lab/suggestions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/advice/ledger.h"
#include "annotator/advice/pairs.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/spread.h"
#include "server/lab/verify.h"
#include "server/lab/what_ifs.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using advice::Suggestion;

// Of one kind, what the ledger says last.
struct Told {
  std::optional<Ratio> predicted;
  std::string interval;
  std::optional<Verdict> verified;
};

Verdict verdict_of(const advice::Record& record) {
  const advice::Measured measured{
      .pairs = record.pairs, .ratio = record.ratio->ratio, .low = record.ratio->low, .high = record.ratio->high};
  return {.pairs = record.pairs,
          .time = *record.ratio,
          .faster = measured.faster(),
          .slower = measured.slower(),
          .losses = std::string(advice::name(record.losses))};
}

// Those whose prediction promises something.
std::map<std::string, Told> promising(const advice::Ledger& ledger, const std::string& profile) {
  std::map<std::string, Told> found;
  for (const advice::Record& record : ledger.records) {
    if (record.profile != profile || !record.ratio || kind_named(record.kind) == nullptr) continue;
    if (record.event == advice::Event::predicted) {
      found[record.kind].predicted = *record.ratio;
      found[record.kind].interval = record.interval;
    }
    if (record.event == advice::Event::verified) found[record.kind].verified = verdict_of(record);
  }
  std::erase_if(found, [](const auto& one) { return !one.second.predicted || !advice::promises(*one.second.predicted); });
  return found;
}

// Where the edit begins; what cannot be edited stands where the bundle knows the change to belong.
std::optional<SourceLine> place_of(const WhatIf& change, const advice::Sources& executed) {
  const auto edits = advice::edits_of(change.parts, executed);
  if (!edits || edits->empty()) return change.where;
  const auto described = advice::described(*edits, executed);
  return SourceLine{described.front().file, described.front().line};
}

void keep_silent(Suggestion& one, const std::vector<advice::Silenced>& silenced) {
  if (one.change.state == State::open && advice::silences(silenced, advice::place_to_silence(one))) one.change.state = State::silenced;
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
  const std::map<std::string, Told> told = promising(*ledger, manifest->id);
  if (told.empty()) return std::vector<Suggestion>{};
  WhatIfAsk ask{.bundle = bundle, .wanted = {}, .python = {}, .say = [](const std::string&) {}};
  for (const auto& [kind, said] : told) ask.wanted.push_back({kind_named(kind)});
  auto found = ask_what_ifs(ask);
  if (!found) return std::unexpected(found.error());
  const auto executed = advice::read_executed(bundle);
  if (!executed) return std::unexpected(executed.error());
  const std::vector<advice::Silenced> silenced = advice::read_silenced(advice::silenced_of(bundle));
  const Result<advice::Duration> takes = verification_time(bundle);
  std::vector<Suggestion> all;
  for (WhatIf& item : found->items) {
    item.time = told.at(item.kind).predicted;
    item.interval = told.at(item.kind).interval;
    item.verified = told.at(item.kind).verified;
    if (item.verified) item.state = State::verified;
    item.step_was = profile::sample(manifest->plain_steps).median;
    item.step = Ns{std::llround(static_cast<double>(item.step_was.count()) * item.time->ratio)};
    auto one = placed(std::move(item), bundle, *executed);
    if (!one) continue;
    keep_silent(*one, silenced);
    if (takes) one->verification = *takes;
    if (!takes) one->verification = std::unexpected(takes.error().message);
    all.push_back(std::move(*one));
  }
  return all;
}

void mark_silenced(WhatIfs& all, const fs::path& bundle) {
  const std::vector<advice::Silenced> silenced = advice::read_silenced(advice::silenced_of(bundle));
  if (silenced.empty()) return;
  const auto executed = advice::read_executed(bundle);
  if (!executed) return;
  for (WhatIf& item : all.items) {
    auto one = placed(item, bundle, *executed);
    if (!one) continue;
    keep_silent(*one, silenced);
    item.state = one->change.state;
  }
}

}  // namespace hotlens::lab
