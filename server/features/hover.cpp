#include <optional>

#include "server/features/baseline.h"
#include "server/features/describe.h"
#include "server/features/features.h"
#include "server/features/findings.h"
#include "server/features/line_summary.h"

namespace hotlens::features {

std::optional<Hover> hover(const FileView& view, source::Position at, const Options& options) {
  const std::optional<LineSummary> summary = summary_at(view, at);
  if (!summary) return std::nullopt;
  Hover found{summary->range, describe(*summary, *view.profile, options)};
  if (summary->part) return found;
  for (const profile::Finding* finding : findings_at(view, at.line)) found.contents += "\n\n" + sentence(*finding, options.markdown);
  if (!options.baseline) return found;
  for (const Delta& delta : deltas(view, *options.baseline, {at.line, at.line + 1})) {
    found.contents = with_sentence(std::move(found.contents), delta, *options.baseline->profile);
  }
  return found;
}

}  // namespace hotlens::features
