#include "server/features/actions/calls.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "server/features/lines/file_facts.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

using profile::ModuleId;
using source::Role;

// A module that several others call has a row under each.
ModuleId itself(const profile::Profile& profile, ModuleId id) {
  return profile.at(id).same_as.valid() ? profile.at(id).same_as : id;
}

bool is_any_of(const profile::Profile& profile, const std::vector<ModuleId>& some, const std::vector<ModuleId>& layers) {
  return std::ranges::any_of(some, [&](ModuleId id) { return std::ranges::binary_search(layers, itself(profile, id)); });
}

std::optional<int> order(Role role) {
  switch (role) {
    case Role::definition:
      return 0;
    case Role::class_line:
      return 1;
    case Role::constructor:
      return 2;
    case Role::call:
      return 3;
    default:
      return std::nullopt;
  }
}

// Those of the line that have layers; of these the innermost around `at`, where there is one.
std::vector<std::uint32_t> facts_with_layers(const FileView& view, source::Position at) {
  std::vector<std::uint32_t> facts, around;
  for (const LineFacts& line : facts_by_line(view, {at.line, at.line + 1})) {
    std::ranges::copy_if(line.facts, std::back_inserter(facts),
                         [&](std::uint32_t fact) { return !view.facts->meanings[fact].modules.empty(); });
  }
  const auto range = [&](std::uint32_t fact) -> const source::Range& { return view.placements[fact].range; };
  for (const std::uint32_t fact : facts) {
    if (!(range(fact).begin <= at && at <= range(fact).end)) continue;
    if (!around.empty() && range(around.front()) != range(fact)) {
      if (!is_inside(range(fact), range(around.front()))) continue;
      around.clear();
    }
    around.push_back(fact);
  }
  return around.empty() ? facts : around;
}

// A container that is never called stands for what it holds, too.
void add_with_held(const profile::Profile& profile, ModuleId id, std::vector<ModuleId>& layers) {
  layers.push_back(id);
  if (profile.at(id).calls > 0) return;
  for (const ModuleId child : profile.at(id).children) add_with_held(profile, child, layers);
}

}  // namespace

std::vector<ModuleId> layers_at(const FileView& view, source::Position at) {
  if (!view.facts || !view.profile) return {};
  std::vector<ModuleId> layers;
  for (const std::uint32_t fact : facts_with_layers(view, at)) {
    for (const ModuleId id : view.facts->meanings[fact].modules) add_with_held(*view.profile, id, layers);
  }
  std::ranges::transform(layers, layers.begin(), [&](ModuleId id) { return itself(*view.profile, id); });
  std::ranges::sort(layers);
  const auto [first, last] = std::ranges::unique(layers);
  layers.erase(first, last);
  return layers;
}

std::vector<CallPlace> places_of(const FileView& view, const std::vector<ModuleId>& layers, const Options& options) {
  if (!view.facts || !view.profile) return {};
  std::map<std::uint32_t, std::string> labels;
  for (Hint& hint : inlay_hints(view, {}, options)) labels[hint.at.line] = std::move(hint.label);
  std::vector<CallPlace> places;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const auto& placement = view.placements[fact];
    const Role role = view.facts->anchors.facts()[fact].role;
    if (placement.state == source::State::orphan || !order(role)) continue;
    if (!is_any_of(*view.profile, view.facts->meanings[fact].modules, layers)) continue;
    const std::uint32_t line = placement.range.begin.line;
    const auto label = labels.find(line);
    places.push_back({.role = role,
                      .range = placement.range,
                      .text = trimmed_line(view.tree.text(), line),
                      .label = label == labels.end() ? "" : label->second});
  }
  const auto key = [](const CallPlace& each) { return std::tuple(order(each.role), each.range.begin, each.range.end); };
  std::ranges::sort(places, {}, key);
  const auto [first, last] = std::ranges::unique(places, {}, key);
  places.erase(first, last);
  return places;
}

bool has_places_of(const profile::Profile& profile, profile::FileId file, const std::vector<ModuleId>& layers) {
  return std::ranges::any_of(collect(profile, file).meanings,
                             [&](const Meaning& meaning) { return is_any_of(profile, meaning.modules, layers); });
}

}  // namespace hotlens::features
