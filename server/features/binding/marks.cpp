#include "server/features/binding/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>

#include "annotator/causes/verdict_line.h"
#include "annotator/common/format.h"
#include "annotator/profile/loop.h"
#include "server/features/lines/file_facts.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/describe.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

using causes::VerdictLine;
using profile::Profile;

constexpr const char* kAnomalyDetection =
    "Anomaly detection is on: each operator of the forward pass notes where it was called, and each gradient is searched for NaN. "
    "A training without it is faster.";

// What the line's own hint says.
std::string words_of_data(const FileView& executed, const VerdictLine& at) {
  const std::vector<LineSummary> line = summarize(executed, {at.line, at.line + 1});
  if (line.empty() || line.front().value <= Ns{} || is_counted_elsewhere(line.front())) return "";
  return "the step gets its batch here, " + number(line.front(), *executed.profile);
}

// "device idle, waiting for launches: 12.4 ms (38%) of the step, 10.1 ms of it in what runs here"
std::string words_of_cause(const Profile& profile, const VerdictLine& at) {
  if (profile.verdict.evidence.empty() || profile.step_wall() <= Ns{}) return "";
  const double part = static_cast<double>(at.whole.count()) / static_cast<double>(profile.step_wall().count());
  return fmt::format("{}: {} ({}) of the step, {} of it in what runs here", plain(profile.verdict.evidence.front().what),
                     format::readable(at.whole), format::share(part), format::readable(at.time));
}

std::string capitalized(std::string words) {
  if (!words.empty() && words.front() >= 'a' && words.front() <= 'z') words.front() = static_cast<char>(words.front() - 'a' + 'A');
  return words;
}

std::optional<Mark> mark_of_verdict(const FileView& executed) {
  const Profile& profile = *executed.profile;
  const auto at = causes::line_of_verdict(profile);
  if (!at || at->file != executed.facts->file) return std::nullopt;
  auto mark = advice::mark_of(executed.tree.text(), at->line);
  const std::string words =
      profile.verdict.kind == profile::name(profile::Cause::data) ? words_of_data(executed, *at) : words_of_cause(profile, *at);
  if (!mark || words.empty()) return std::nullopt;
  std::string code = profile.verdict.kind + "-bound";
  std::string message = capitalized(code) + ": " + words + ".";
  return Mark{.at = std::move(*mark), .code = std::move(code), .limits = true, .message = std::move(message)};
}

// A call that switches it on: the run has told that it is, not where.
void mark_anomaly_detection(const FileView& executed, std::vector<Mark>& marks) {
  constexpr const char* kCode = "anomaly_detection";  // of the recorder's warning
  if (std::ranges::find(executed.profile->warnings, kCode, &Issue::code) == executed.profile->warnings.end()) return;
  std::uint32_t number = 0;
  for (const auto part : std::views::split(executed.tree.text(), '\n')) {
    const std::string_view line(part.begin(), part.end());
    const std::size_t call = line.find("detect_anomaly("), comment = line.find('#');
    if (call < comment && !line.contains("False")) {
      if (auto at = advice::mark_of(executed.tree.text(), number)) {
        marks.push_back({.at = std::move(*at), .code = kCode, .limits = false, .message = kAnomalyDetection});
      }
    }
    ++number;
  }
}

void mark_unused_graphs(const FileView& executed, std::vector<Mark>& marks) {
  if (!executed.profile->loop) return;
  for (const profile::UnusedGraph& graph : executed.profile->loop->unused_graphs) {
    if (graph.site.file != executed.facts->file) continue;
    auto at = advice::mark_of(executed.tree.text(), graph.site.line);
    if (at) marks.push_back({.at = std::move(*at), .code = "no_grad", .limits = false, .message = spelled(graph) + "."});
  }
}

}  // namespace

std::vector<Mark> marks_of(const FileView& executed) {
  std::vector<Mark> marks;
  if (!executed.facts || !executed.profile) return marks;
  if (auto verdict = mark_of_verdict(executed)) marks.push_back(std::move(*verdict));
  mark_unused_graphs(executed, marks);
  mark_anomaly_detection(executed, marks);
  return marks;
}

}  // namespace hotlens::features
