#include "server/features/hovers/findings.h"

#include <algorithm>

#include "annotator/advice/rules/text.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

constexpr std::size_t kLongestCondition = 200, kLongestNote = 320;  // characters

bool untouched(const FileView& view, std::uint32_t executed) {
  return std::ranges::none_of(view.placements, [&](const source::Anchors::Placement& placement) {
    const bool there = view.facts->anchors.facts()[placement.fact].range.begin.line == executed;
    return there && (placement.state == source::State::edited || placement.state == source::State::orphan);
  });
}

}  // namespace

std::vector<const profile::Finding*> findings_at(const FileView& view, std::uint32_t line) {
  std::vector<const profile::Finding*> found;
  if (!view.profile || !view.facts) return found;
  const std::filesystem::path& file = view.facts->profile->files.at(view.facts->file.index).path;
  for (const profile::Finding& finding : view.profile->findings) {
    if (!finding.line || file != finding.file || found.size() == kMostFindings) continue;
    const auto executed = static_cast<std::uint32_t>(*finding.line);
    if (line_now(view, executed) == line && untouched(view, executed)) found.push_back(&finding);
  }
  return found;
}

std::string sentence(const profile::Finding& finding, bool markdown) {
  std::string condition;
  for (const std::string& each : finding.assumes) condition += (condition.empty() ? "" : "; ") + each;
  const std::string words = "Could help, " + rules::gain_words(finding) + ": " + finding.title + " (" + condition + ").";
  const auto safe = [&](const std::string& text, std::size_t most) { return markdown ? escape_markdown(text, most) : plain(text, most); };
  if (finding.note.empty()) return safe(words, kLongestCondition);
  return safe(words, kLongestCondition) + " " + safe("Also, " + finding.note + ".", kLongestNote);
}

}  // namespace hotlens::features
