#include "server/lab/kept.h"

#include "annotator/advice/edits/edits.h"
#include "annotator/profile/bundle/bundle.h"

namespace hotlens::lab {

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
  }
  return made;
}

advice::Record record_of(const profile::Finding& finding, const std::string& profile, const std::filesystem::path& bundle) {
  WhatIf item{.kind = finding.kind, .title = {}, .evidence = {}, .assumes = finding.assumes, .modules = {}, .parts = {}};
  if (!finding.file.empty() && finding.line) item.where = SourceLine{finding.file, *finding.line};
  if (finding.foretold) item.time = Ratio{finding.foretold->ratio, finding.foretold->low, finding.foretold->high};
  if (!finding.foretold) item.time = Ratio{.ratio = finding.least_ratio, .low = finding.least_ratio, .high = 1};
  advice::Record made = record_of(item, profile, bundle, advice::Event::predicted);
  made.method = finding.foretold ? advice::kProfile : advice::kBound;
  return made;
}

namespace {

advice::Record foretold(const advice::Suggestion& suggestion, const std::string& profile) {
  WhatIf item = suggestion.change;
  if (suggestion.at_best) item.time = Ratio{.ratio = *suggestion.at_best, .low = *suggestion.at_best, .high = 1};
  advice::Record made = record_of(item, profile, suggestion.bundle, advice::Event::predicted);
  made.method = suggestion.at_best ? advice::kBound : advice::kProfile;
  return made;
}

}  // namespace

Result<void> keep_applied(const advice::Suggestion& suggestion) {
  const auto executed = advice::read_executed(suggestion.bundle);
  if (!executed) return std::unexpected(executed.error());
  const auto edits = advice::edits_of(suggestion.change.parts, *executed);
  if (!edits) return std::unexpected(Error{ErrorCode::unsupported, advice::sentence(edits.error()), {}});
  WhatIf item = suggestion.change;
  item.edits = advice::described(*edits, *executed);
  const std::string profile = suggestion.bundle.filename().string();
  if (suggestion.by_rule) {  // so that what comes of it can be compared
    const auto kept = advice::add(advice::ledger_of(suggestion.bundle), foretold(suggestion, profile));
    if (!kept) return kept;
  }
  return advice::add(advice::ledger_of(suggestion.bundle), record_of(item, profile, suggestion.bundle, advice::Event::applied));
}

}  // namespace hotlens::lab
