#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "server/features/features.h"
#include "server/features/hovers/findings.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/baseline.h"
#include "server/features/words/describe.h"

namespace hotlens::features {
namespace {

// What stands below the numbers, a line each.
std::vector<std::string> further(const FileView& view, source::Position at, const Options& options) {
  std::vector<std::string> lines;
  for (const profile::Finding* finding : options.findings ? findings_at(view, at.line) : std::vector<const profile::Finding*>{})
    lines.push_back(sentence(*finding, options.markdown));
  if (!options.baseline) return lines;
  for (const Delta& delta : deltas(view, *options.baseline, {at.line, at.line + 1})) {
    lines.push_back(sentence(delta, *options.baseline->view.profile));
  }
  return lines;
}

}  // namespace

std::optional<Hover> hover(const FileView& view, source::Position at, const Options& options, std::size_t taken) {
  const std::optional<LineSummary> summary = summary_at(view, at);
  if (!summary) return std::nullopt;
  const std::vector<std::string> below = summary->part ? std::vector<std::string>{} : further(view, at, options);
  const std::size_t room = kMostLines - std::min(kMostLines, taken + below.size());
  Hover found{summary->range, describe(*summary, *view.profile, options, room)};
  for (const std::string& line : below) found.contents += "\n\n" + line;
  return found;
}

}  // namespace hotlens::features
