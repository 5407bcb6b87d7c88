#include <algorithm>
#include <iterator>

#include "annotator/source/queries.h"
#include "server/features/batch_size.h"
#include "server/features/commands.h"
#include "server/features/features.h"

namespace hotlens::features {

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
  return actions;
}

}  // namespace hotlens::features
