#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "annotator/source/queries.h"
#include "server/features/actions/batch_size.h"
#include "server/features/commands.h"
#include "server/features/features.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"
#include "server/features/words/step_words.h"

namespace hotlens::features {
namespace {

using source::Role;

bool is_root_class(const FileView& view, std::uint32_t fact) {
  const auto& modules = view.facts->meanings[fact].modules;
  return std::ranges::any_of(modules, [&](profile::ModuleId id) { return view.profile->at(id).path.empty(); });
}

bool is_head_of_loop(const FileView& view, std::uint32_t fact) {
  return view.profile->stage_sites.at(view.facts->meanings[fact].row).stage == profile::Stage::data;
}

int rank(const FileView& view, std::uint32_t fact) {
  switch (view.facts->anchors.facts()[fact].role) {
    case Role::class_line:
      return is_root_class(view, fact) ? 0 : 1;
    case Role::stage:
      return is_head_of_loop(view, fact) ? 2 : 3;
    case Role::statement:
      return 5;
    default:
      return 4;
  }
}

// One lens a file: where it trains, so that it stands there before the first profile as after it; else above the model's class, else the
// first measured class, else the loop over the data, else the first stage, else the first placed line.
std::optional<std::uint32_t> lens_line(const FileView& view) {
  const bool placed = std::ranges::any_of(view.placements, [](const auto& each) { return each.state != source::State::orphan; });
  if (const auto trains = source::training_line(view.tree); trains && placed) return trains;
  // Rank, then line: the least is best.
  std::optional<std::pair<int, std::uint32_t>> best;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const auto& placement = view.placements[fact];
    if (placement.state == source::State::orphan) continue;
    const std::pair found(rank(view, fact), placement.range.begin.line);
    if (!best || found < *best) best = found;
  }
  return best.transform([](const auto& found) { return found.second; });
}

std::string lost_note(const FileView& view) {
  const auto lost = std::ranges::count_if(view.placements, [&](const auto& placement) {
    const auto fact = static_cast<std::size_t>(&placement - view.placements.data());
    return placement.state == source::State::orphan && view.facts->anchors.facts()[fact].role == Role::definition;
  });
  return lost == 0 ? "" : fmt::format(" · {} {} no longer found", lost, lost == 1 ? "layer" : "layers");
}

std::string shown_note(const Options& options) {
  return options.label.empty() ? "" : plain(options.label) + " · ";
}

// How the script is run from now on; a click changes it.
void add_kept(std::vector<Lens>& lenses, const Options& options) {
  constexpr std::size_t kMostCharacters = 60;
  if (!options.trusted || options.running) return;
  if (options.configuration) {
    const std::string name = plain(*options.configuration, kMostCharacters);
    lenses.push_back({.line = lenses.front().line,
                      .title = name.empty() ? "Choose run configuration…" : "Run configuration: " + name,
                      .command = kChooseRunCommand});
  }
  if (!options.arguments) return;
  const std::string text = options.arguments->empty() ? "Without arguments" : "Arguments: " + plain(*options.arguments, kMostCharacters);
  lenses.push_back({.line = lenses.front().line, .title = text, .command = kArgumentsCommand});
}

}  // namespace

// Where the workspace is not trusted, nothing is offered that runs its code; a run from before may still be stopped.
std::vector<Lens> code_lenses(const FileView& view, const Options& options) {
  const std::string command = options.running ? kCancelCommand : kProfileCommand;
  if (view.facts && view.profile) {
    if (const auto line = lens_line(view)) {
      const std::string verb = options.running ? "■ Cancel profiling · " : options.trusted ? "▸ Profile again · " : "";
      std::vector<Lens> lenses{{.line = *line,
                                .title = verb + shown_note(options) + step_headline(*view.profile) + lost_note(view),
                                .command = verb.empty() ? std::string() : command}};
      if (options.timeline) lenses.push_back({.line = *line, .title = "Show in timeline", .command = kTimelineCommand});
      add_kept(lenses, options);
      std::ranges::move(batch_size_lenses(view, options), std::back_inserter(lenses));
      // Last: an editor that cuts a long line cuts this, and nothing that can be clicked.
      if (std::string notes = step_notes(*view.profile); !notes.empty())
        lenses.push_back({.line = *line, .title = std::move(notes), .command = {}});
      return lenses;
    }
  }
  const bool is_script = options.arguments || options.configuration || source::looks_like_training_script(view.tree);
  if ((!options.trusted && !options.running) || !is_script) return {};
  std::vector<Lens> lenses{{.line = source::training_line(view.tree).value_or(0),
                            .title = options.running ? "■ Cancel profiling" : "▸ Profile this script",
                            .command = command}};
  add_kept(lenses, options);
  return lenses;
}

}  // namespace hotlens::features
