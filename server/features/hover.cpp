#include <algorithm>
#include <optional>
#include <string_view>

#include "server/features/baseline.h"
#include "server/features/describe.h"
#include "server/features/features.h"
#include "server/features/findings.h"
#include "server/features/line_summary.h"

namespace hotlens::features {

namespace {

// Of an editor's hover: blank lines and fences are not shown.
std::ptrdiff_t shown_lines(std::string_view text) {
  std::ptrdiff_t lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && !text.substr(at).starts_with("```")) ++lines;
    at = end + 1;
  }
  return lines;
}

// One line more, where there is room for it.
Hover with_arithmetic(Hover found, const LineSummary& summary, const FileView& view, const Options& options) {
  constexpr std::ptrdiff_t kMostLines = 10;
  const std::string text = arithmetic(summary, *view.profile);
  if (!text.empty() && shown_lines(found.contents) < kMostLines) found.contents += (options.markdown ? "  \n" : "\n") + text;
  return found;
}

}  // namespace

std::optional<Hover> hover(const FileView& view, source::Position at, const Options& options) {
  const std::optional<LineSummary> summary = summary_at(view, at);
  if (!summary) return std::nullopt;
  Hover found{summary->range, describe(*summary, *view.profile, options)};
  if (summary->part) return with_arithmetic(std::move(found), *summary, view, options);
  for (const profile::Finding* finding : findings_at(view, at.line)) found.contents += "\n\n" + sentence(*finding, options.markdown);
  if (!options.baseline) return with_arithmetic(std::move(found), *summary, view, options);
  for (const Delta& delta : deltas(view, *options.baseline, {at.line, at.line + 1})) {
    found.contents = with_sentence(std::move(found.contents), delta, *options.baseline->profile);
  }
  return with_arithmetic(std::move(found), *summary, view, options);
}

}  // namespace hotlens::features
