#include "server/lab/suggestions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/advice/ledger.h"
#include "annotator/advice/rules/text.h"
#include "annotator/advice/told.h"
#include "annotator/lab/checkpoint/kept.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/verify.h"
#include "server/lab/what_ifs.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using advice::Suggestion;
using advice::Told;

// Changes of the same lines as another one, of which only runs tell.
constexpr std::array kInstead{std::pair<std::string_view, std::string_view>{"unbind_time", "scan_time"}};

// As the ledger has it.
void add_told(const Told& told, WhatIf& change) {
  change.time = told.predicted;
  change.interval = told.interval;
  change.peak_was = told.peak_was;
  change.peak = told.peak;
}

bool promising(const Told& told) {
  WhatIf change{};
  add_told(told, change);
  return told.predicted && (advice::promises(*told.predicted) || advice::frees_memory(change));
}

// That of its edits. What cannot be edited stands where the bundle knows the change to belong.
std::optional<SourceLine> place_of(const WhatIf& change, const advice::Sources& executed) {
  const auto edits = advice::edits_of(change.parts, executed);
  return !edits || edits->empty() ? change.where : advice::place_of(*edits, executed);
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

std::string title_of(const CurvePoint& point, std::size_t blocks) {
  constexpr std::size_t kNamed = 3;
  if (point.blocks.size() == blocks && blocks > 1) return fmt::format("Checkpoint all {} blocks", blocks);
  if (point.blocks.size() > kNamed) return fmt::format("Checkpoint {} of {} blocks", point.blocks.size(), blocks);
  return fmt::format("Checkpoint {}", fmt::join(point.blocks, " and "));
}

// Farthest from the line between the first and the last one: what more is freed behind it costs more time for each byte.
const CurvePoint& best_of(std::span<const CurvePoint> points) {
  const CurvePoint &first = points.front(), &last = points.back();
  const auto freed = static_cast<double>(count(first.peak) - count(last.peak)),
             added = static_cast<double>((last.step - first.step).count());
  return *std::ranges::max_element(points.subspan(1), {}, [&](const CurvePoint& point) {
    const auto of_freed = static_cast<double>(count(first.peak) - count(point.peak)) / freed;
    return added > 0 ? of_freed - static_cast<double>((point.step - first.step).count()) / added : of_freed;
  });
}

WhatIf choice_of(const CurvePoint& point, const KeptCheckpoints& kept) {
  const Curve& curve = kept.curve;
  WhatIf change{
      .kind = "checkpoint", .title = title_of(point, curve.blocks), .evidence = {}, .assumes = {}, .modules = point.blocks, .parts = {}};
  change.parts.push_back({.kind = change.kind, .modules = point.blocks});
  change.where = kept.where;
  change.time = point.time;
  change.step_was = curve.points.front().step;
  change.step = point.step;
  change.peak_was = curve.points.front().peak;
  change.peak = point.peak;
  return change;
}

// Gives changes what is the same for all of a profile.
class Finishing {
 public:
  Finishing(const fs::path& bundle, const advice::Sources& executed, const advice::Tellings& told, Ns step)
      : bundle_(bundle),
        executed_(executed),
        told_(told),
        step_(step),
        silenced_(advice::read_silenced(advice::silenced_of(bundle))),
        takes_(verification_time(bundle)) {}

  void replayed(WhatIf change, std::vector<Suggestion>& all) const {
    add_told(told_.at(change.kind), change);
    if (auto one = placed(finished(std::move(change), 1), bundle_, executed_)) all.push_back(judged(std::move(*one)));
  }

  // `known`: what the recorded program tells of its layers.
  void found(const profile::Finding& finding, const std::vector<WhatIf>& known, std::vector<Suggestion>& all) const {
    WhatIf change = change_of(finding, step_);
    const auto same = std::ranges::find(known, finding.kind, &WhatIf::kind);
    if (same != known.end()) change.parts = same->parts;
    if (finding.only_measured && !advice::edits_of(change.parts, executed_)) return;  // then it cannot be measured
    if (finding.foretold) change.time = Ratio{finding.foretold->ratio, finding.foretold->low, finding.foretold->high};
    auto one = placed(finished(std::move(change), finding.least_ratio), bundle_, executed_);
    if (!one) return;
    one->by_rule = true;
    if (!finding.foretold && !finding.only_measured) one->at_best = finding.least_ratio;
    all.push_back(judged(std::move(*one)));
  }

 private:
  // `ratio`: where it has no time.
  WhatIf finished(WhatIf change, double ratio) const {
    if (const auto told = told_.find(change.kind); told != told_.end()) change.verified = told->second.verified;
    if (change.verified) change.state = State::verified;
    change.step_was = step_;
    change.step = Ns{std::llround(static_cast<double>(step_.count()) * (change.time ? change.time->ratio : ratio))};
    return change;
  }

  // Those that the script has a place for, and that were not verified to be no gain.
  std::vector<WhatIf> instead_of(std::string_view kind) const {
    std::vector<WhatIf> found;
    for (const auto& [of, instead] : kInstead) {
      const std::vector<Part> parts{{.kind = std::string(instead), .modules = {}}};
      if (of != kind || !advice::edits_of(parts, executed_)) continue;
      const Kind& named = *kind_named(instead);
      WhatIf change{
          .kind = std::string(named.name), .title = std::string(named.title), .evidence = {}, .assumes = {}, .modules = {}, .parts = parts};
      if (const auto told = told_.find(change.kind); told != told_.end()) change.verified = told->second.verified;
      if (!change.verified || change.verified->faster) found.push_back(std::move(change));
    }
    return found;
  }

  Suggestion judged(Suggestion one) const {
    one.instead = instead_of(one.change.kind);
    keep_silent(one, silenced_);
    if (takes_) one.verification = *takes_;
    if (!takes_) one.verification = std::unexpected(takes_.error().message);
    return one;
  }

  const fs::path& bundle_;
  const advice::Sources& executed_;
  const advice::Tellings& told_;
  Ns step_;
  std::vector<advice::Silenced> silenced_;
  Result<advice::Duration> takes_;
};

}  // namespace

WhatIf change_of(const profile::Finding& finding, std::optional<Ns> step) {
  WhatIf item{.kind = finding.kind, .title = finding.title, .evidence = {}, .assumes = finding.assumes, .modules = {}, .parts = {}};
  item.parts.push_back({.kind = finding.kind, .modules = {}});
  for (const profile::Verdict::Evidence& evidence : finding.evidence) {
    item.evidence.push_back(rules::evidence_text(finding, evidence, step));
  }
  if (!finding.note.empty()) item.evidence.push_back(finding.note);
  if (!finding.file.empty() && finding.line) item.where = SourceLine{finding.file, *finding.line};
  return item;
}

Result<std::vector<Suggestion>> suggestions(const fs::path& bundle, std::span<const profile::Finding> findings) {
  const auto ledger = advice::read_ledger(advice::ledger_of(bundle));
  if (!ledger) return std::unexpected(ledger.error());
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  const advice::Tellings told = advice::told_of(*ledger, manifest->id);
  std::vector<const profile::Finding*> found;
  for (const profile::Finding& finding : findings) {
    const auto known = told.find(std::string(advice::what_if_of(finding.kind)));
    if (known == told.end() || !known->second.predicted) found.push_back(&finding);
  }
  WhatIfAsk ask{.bundle = bundle, .wanted = {}, .python = {}, .say = [](const std::string&) {}};
  for (const auto& [kind, said] : told) {
    if (kind_named(kind) != nullptr && promising(said)) ask.wanted.push_back({kind_named(kind)});
  }
  const bool replayed = !ask.wanted.empty();
  for (const profile::Finding* one : found) {
    if (const Kind* kind = kind_named(one->kind)) ask.wanted.push_back({kind});
  }
  if (!replayed && found.empty()) return std::vector<Suggestion>{};
  auto known = ask.wanted.empty() ? Result<WhatIfs>(WhatIfs{}) : ask_what_ifs(ask);
  if (!known && replayed) return std::unexpected(known.error());
  const auto executed = advice::read_executed(bundle);
  if (!executed) return std::unexpected(executed.error());
  std::vector<Suggestion> all;
  const Finishing finish{bundle, *executed, told, profile::shown_step(bundle, *manifest).value_or(Ns{})};
  for (const WhatIf& item : known ? known->items : std::vector<WhatIf>{}) {
    if (std::ranges::find(found, item.kind, &profile::Finding::kind) == found.end()) finish.replayed(item, all);
  }
  for (const profile::Finding* one : found) finish.found(*one, known ? known->items : std::vector<WhatIf>{}, all);
  return all;
}

std::vector<Suggestion> checkpoint_choices(const fs::path& bundle) {
  const auto kept = read_kept_checkpoints(bundle, bundle.filename().string());
  if (!kept || (kept->curve.points.size() < 2 && !kept->instead)) return {};
  const auto executed = advice::read_executed(bundle);
  if (!executed) return {};
  if (kept->instead) {
    auto one = placed(*kept->instead, bundle, *executed);
    return one ? std::vector<Suggestion>{std::move(*one)} : std::vector<Suggestion>{};
  }
  const std::vector<CurvePoint>& points = kept->curve.points;
  std::vector<const CurvePoint*> chosen{&best_of(points)};
  for (const CurvePoint* one : {&points[1], &points.back()}) {
    if (std::ranges::find(chosen, one) == chosen.end()) chosen.push_back(one);
  }
  std::vector<Suggestion> all;
  for (const CurvePoint* point : chosen) {
    auto one = placed(choice_of(*point, *kept), bundle, *executed);
    if (one) all.push_back(std::move(*one));
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
