#include "annotator/advice/told.h"

#include <algorithm>

#include "annotator/lab/whatif/kinds.h"

namespace hotlens::advice {
namespace {

lab::Verdict verdict_of(const Record& record) {
  const Measured measured{.pairs = record.pairs, .ratio = record.ratio->ratio, .low = record.ratio->low, .high = record.ratio->high};
  return {.pairs = record.pairs,
          .time = *record.ratio,
          .faster = measured.faster(),
          .slower = measured.slower(),
          .losses = std::string(name(record.losses))};
}

}  // namespace

Tellings told_of(const Ledger& ledger, const std::string& profile) {
  Tellings told;
  for (const Record& record : ledger.records) {
    if (record.profile != profile || !record.ratio || !lab::is_possible(*record.ratio)) continue;
    const bool replayed = record.event == Event::predicted && record.method == kReplay && !title_of(record.kind).empty();
    if (replayed) {
      Told& one = told[record.kind];
      one.predicted = *record.ratio;
      one.assumes = record.assumes;
      one.interval = record.interval;
      one.peak_was = record.peak_was;
      one.peak = record.peak;
      if (!record.file.empty()) one.where = lab::SourceLine{record.file, record.line};
    }
    if (record.event == Event::verified) told[record.kind].verified = verdict_of(record);
  }
  return told;
}

std::string title_of(const std::string& kinds) {
  std::string title;
  for (std::size_t at = 0; at <= kinds.size();) {
    const std::size_t end = std::min(kinds.find('+', at), kinds.size());
    const lab::Kind* kind = lab::kind_named(std::string_view(kinds).substr(at, end - at));
    if (kind == nullptr || kind->depends) return {};  // no advice
    title += (title.empty() ? "" : " and ") + std::string(kind->title);
    at = end + 1;
  }
  return title;
}

}  // namespace hotlens::advice
