#include <algorithm>

#include <fmt/format.h>

#include "server/features/describe.h"
#include "server/features/features.h"
#include "server/features/format.h"
#include "server/features/line_summary.h"

namespace hotlens::features {
namespace {

constexpr double kWholeStep = 0.99;      // `main()` and its like hold the whole step: the lens says that number
constexpr std::size_t kLabelLimit = 20;  // characters; VS Code cuts the hints of one line at 43 over all servers

std::string mark(source::State state) {
  switch (state) {
    case source::State::edited:
      return "≠ ";
    case source::State::context:
      return "~";
    default:
      return "";
  }
}

// Drops the least telling part until the label fits.
std::string label(const LineSummary& summary, double share) {
  const std::string time = mark(summary.state) + format_time(summary.value);
  const std::string part = " " + format_share(share);
  const std::string times = summary.times > 1 ? fmt::format(" ×{}", summary.times) : "";
  for (const std::string& candidate : {time + part + times, time + part}) {
    if (characters(candidate) <= kLabelLimit) return candidate;
  }
  return time;
}

// The byte length of every line up to `last`, line ends left out: one pass, lines end at '\n' as in the syntax tree.
std::vector<std::uint32_t> line_lengths(std::string_view text, std::uint32_t last) {
  std::vector<std::uint32_t> lengths;
  while (lengths.size() <= last) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    lengths.push_back(static_cast<std::uint32_t>(line.ends_with('\r') ? line.size() - 1 : line.size()));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lengths;
}

}  // namespace

std::vector<Hint> inlay_hints(const FileView& view, LineRange lines, const Options& options) {
  const std::vector<LineSummary> summaries = summarize(view, lines);
  if (summaries.empty()) return {};
  const std::vector<std::uint32_t> lengths = line_lengths(view.tree.text(), summaries.back().line);
  std::vector<Hint> hints;
  for (const LineSummary& summary : summaries) {
    const double part = share(summary, *view.profile);
    if (part < options.min_share || summary.value <= Ns{} || summary.line >= lengths.size()) continue;
    hints.push_back({.at = {summary.line, lengths[summary.line]},
                     .label = label(summary, part),
                     .tooltip = options.tooltips ? describe(summary, *view.profile, options) : ""});
  }
  return hints;
}

}  // namespace hotlens::features
