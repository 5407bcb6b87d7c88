#include <algorithm>
#include <iterator>
#include <optional>

#include "annotator/source/queries.h"
#include "server/features/actions/batch_size.h"
#include "server/features/actions/calls.h"
#include "server/features/commands.h"
#include "server/features/features.h"
#include "server/features/lines/line_summary.h"

namespace hotlens::features {

namespace {

// What can be done about the numbers of one line.
void add_place_actions(std::vector<Action>& actions, const FileView& view, std::uint32_t line, const Options& options) {
  if (!view.facts || !view.profile) return;
  constexpr const char* kKind = "hotlens.show";
  const auto add = [&](const char* title, const char* command) {
    actions.push_back(
        {.title = title, .kind = kKind, .command = command, .disabled = std::nullopt, .edit = std::nullopt, .at_place = true});
  };
  if (options.calls && !layers_at(view, {line, 0}).empty()) add("Show calls of this layer", kCallsCommand);
  const std::optional<LineSummary> summary = summary_at(view, {line, 0});
  if (options.clipboard && summary) add("Copy as Markdown", kDescribeCommand);
  if (options.timeline && summary && has_block(*summary)) add("Show in timeline", kTimelineCommand);
  if (options.compares && options.baseline && summary && has_block(*summary)) {
    add("Compare with baseline", kTimelineCommand);
    actions.back().compare = true;
  }
}

}  // namespace

std::vector<Action> code_actions(const FileView& view, LineRange lines, const Options& options) {
  constexpr const char* kKind = "hotlens.profile";
  std::optional<std::string> disabled;
  if (!options.trusted) disabled = "The workspace is not trusted: profiling runs its code.";
  if (options.running) disabled = "A profiling run is in progress.";
  std::vector<Action> actions{
      {.title = view.profile ? "Profile again" : "Profile", .kind = kKind, .command = kProfileCommand, .disabled = disabled}};
  if (options.running) {
    actions.push_back({.title = "Cancel profiling", .kind = kKind, .command = kCancelCommand, .disabled = std::nullopt});
  }
  std::ranges::move(batch_size_actions(view, lines, options), std::back_inserter(actions));
  if (!disabled && source::looks_like_training_script(view.tree)) {
    actions.push_back({.title = "Set arguments…", .kind = kKind, .command = kArgumentsCommand, .disabled = std::nullopt});
  }
  if (!disabled && options.configuration) {
    actions.push_back({.title = "Choose run configuration…", .kind = kKind, .command = kChooseRunCommand, .disabled = std::nullopt});
  }
  add_place_actions(actions, view, lines.begin, options);
  return actions;
}

}  // namespace hotlens::features
