#include <optional>

#include "server/features/describe.h"
#include "server/features/features.h"
#include "server/features/line_summary.h"

namespace hotlens::features {

std::optional<Hover> hover(const FileView& view, source::Position at, const Options& options) {
  const std::optional<LineSummary> summary = summary_at(view, at);
  if (!summary) return std::nullopt;
  return Hover{summary->range, describe(*summary, *view.profile, options)};
}

}  // namespace hotlens::features
