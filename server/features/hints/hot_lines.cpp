#include "server/features/hints/hot_lines.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "annotator/profile/loop.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

constexpr std::size_t kLongestLine = 120;  // characters

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The class of the module, or of one that it holds, is code of the workspace.
bool is_own(const profile::Profile& profile, profile::ModuleId id) {
  const profile::Module& module = profile.at(id);
  if (module.class_site && profile.files.at(module.class_site->file.index).workspace) return true;
  return std::ranges::any_of(module.children, [&](profile::ModuleId child) { return is_own(profile, child); });
}

// Of a constructor in a helper: the lines that use the helper say which of them costs what.
bool is_defined_elsewhere(const profile::Profile& profile, profile::ModuleId id) {
  const profile::Module& module = profile.at(id);
  return module.attached && profile.files.at(module.attached->file.index).workspace;
}

// The statements of this file that call a function whose own statements are known: those say more.
std::set<std::uint32_t> lines_that_call_known_ones(const FileView& view, const std::vector<std::string_view>& lines) {
  if (!view.profile->loop) return {};
  std::set<std::string> known;
  for (const profile::LoopFunction& function : profile::functions(*view.profile->loop)) known.insert(function.function);
  std::set<std::uint32_t> found;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const std::uint32_t line = view.placements[fact].range.begin.line;
    if (view.facts->anchors.facts()[fact].role != source::Role::statement || line >= lines.size()) continue;
    const std::string& own = view.profile->loop->statements.at(view.facts->meanings[fact].row).site.function;
    const auto calls = [&](const std::string& name) {
      return name != own && profile::is_called_in(lines[line], profile::called_name(name));
    };
    if (std::ranges::any_of(known, calls)) found.insert(line);
  }
  return found;
}

}  // namespace

std::vector<HotLine> hot_lines(const FileView& view, const Options& options) {
  if (!view.facts || !view.profile) return {};
  std::map<std::uint32_t, std::string> labels;
  for (Hint& hint : inlay_hints(view, {}, options)) labels[hint.at.line] = std::move(hint.label);
  const std::vector<std::string_view> lines = lines_of(view.tree.text());
  const std::set<std::uint32_t> callers = lines_that_call_known_ones(view, lines);
  std::vector<HotLine> hot;
  for (const LineSummary& summary : summarize(view, {})) {
    const double part = share(summary, *view.profile);
    const auto label = labels.find(summary.line);
    if (label == labels.end() || summary.value <= Ns{} || part < options.min_share || summary.line >= lines.size()) continue;
    const std::string_view text = trimmed(lines[summary.line]);
    const bool own = std::ranges::any_of(summary.modules, [&](profile::ModuleId id) { return is_own(*view.profile, id); });
    const bool helper = summary.subject == Subject::constructor &&
                        std::ranges::any_of(summary.modules, [&](profile::ModuleId id) { return is_defined_elsewhere(*view.profile, id); });
    const bool calls = summary.subject != Subject::stage && callers.contains(summary.line);
    const bool whole_stage = enters(summary, profile::Stage::forward) || enters(summary, profile::Stage::backward);
    hot.push_back({.line = summary.line,
                   .column = static_cast<std::uint32_t>(text.data() - lines[summary.line].data()),
                   .value = summary.value,
                   .share = part,
                   .label = label->second,
                   .text = plain(text, kLongestLine),
                   .sums_up = own || summary.subject == Subject::class_line || helper || calls,
                   .of_stage = whole_stage,
                   .of_module = !whole_stage && !summary.modules.empty()});
  }
  std::ranges::stable_sort(hot, std::ranges::greater{}, &HotLine::share);
  return hot;
}

}  // namespace hotlens::features
