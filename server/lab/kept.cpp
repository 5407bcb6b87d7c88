#include "server/lab/kept.h"

#include <optional>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/advice/seen.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/suggestions.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;

// What a rule tells before anything was replayed. `at_best`: a bound, in place of a time.
advice::Record foretold(WhatIf item, const std::optional<double>& at_best, const std::string& profile,
                        const std::filesystem::path& bundle) {
  if (at_best) item.time = Ratio{.ratio = *at_best, .low = *at_best, .high = 1};
  advice::Record made = record_of(item, profile, bundle, advice::Event::predicted);
  made.method = at_best ? advice::kBound : advice::kProfile;
  return made;
}

}  // namespace

advice::Record record_of(const WhatIf& item, const std::string& profile, const std::filesystem::path& bundle, advice::Event event) {
  const auto manifest = profile::read_manifest(bundle);
  advice::Record made{.event = event,
                      .time = advice::time_now(),
                      .profile = profile,
                      .kind = item.kind,
                      .torch = manifest ? manifest->torch : std::string(),
                      .file = item.where ? item.where->file : std::string(),
                      .line = item.where ? item.where->line : 0,
                      .method = {},
                      .ratio = {},
                      .assumes = {}};
  if (event == advice::Event::applied) made.edits = item.edits;
  if (event == advice::Event::predicted) {
    made.method = advice::kReplay;
    made.ratio = item.time;
    made.assumes = item.assumes;
    made.interval = item.interval;
    made.unsure = item.unsure;
    made.peak_was = item.peak_was;
    made.peak = item.peak;
  }
  return made;
}

advice::Record record_of(const profile::Finding& finding, const std::string& profile, const std::filesystem::path& bundle) {
  WhatIf item = change_of(finding);
  if (finding.foretold) item.time = Ratio{finding.foretold->ratio, finding.foretold->low, finding.foretold->high};
  return foretold(std::move(item), finding.foretold ? std::nullopt : std::optional(finding.least_ratio), profile, bundle);
}

Result<void> keep_applied(const advice::Suggestion& suggestion) {
  const auto executed = advice::read_executed(suggestion.bundle);
  if (!executed) return std::unexpected(executed.error());
  const auto edits = advice::edits_of(suggestion.change.parts, *executed);
  if (!edits) return std::unexpected(Error{ErrorCode::unsupported, advice::sentence(edits.error()), {}});
  WhatIf item = suggestion.change;
  item.edits = advice::described(*edits, *executed);
  const std::string profile = suggestion.bundle.filename().string();
  if (suggestion.by_rule && !advice::only_runs_tell(suggestion)) {  // so that what comes of it can be compared
    const auto kept =
        advice::add(advice::ledger_of(suggestion.bundle), foretold(suggestion.change, suggestion.at_best, profile, suggestion.bundle));
    if (!kept) return kept;
  }
  return advice::add(advice::ledger_of(suggestion.bundle), record_of(item, profile, suggestion.bundle, advice::Event::applied));
}

Result<void> keep_settled(const SettledEdit& edit) {
  const auto ratio = [&](Ns time) { return static_cast<double>(time.count()) / static_cast<double>(edit.step_was.count()); };
  WhatIf item{.kind = std::string(advice::kEditedLayers), .title = {}, .evidence = {}, .assumes = {}, .modules = {}, .parts = {}};
  item.where = edit.where;
  item.time = Ratio{ratio(edit.predicted.step), ratio(edit.predicted.low), ratio(edit.predicted.high)};
  const fs::path ledger = advice::ledger_of(edit.after);
  const auto predicted = advice::add(ledger, record_of(item, edit.before, edit.after, advice::Event::predicted));
  if (!predicted) return predicted;
  advice::Record seen = record_of(item, edit.before, edit.after, advice::Event::seen);
  seen.after = edit.after.filename().string();
  seen.ratio = Ratio{ratio(edit.measured), ratio(edit.measured), ratio(edit.measured)};
  seen.step_was = edit.step_was;
  seen.step = edit.measured;
  return advice::add(ledger, seen);
}

}  // namespace hotlens::lab
