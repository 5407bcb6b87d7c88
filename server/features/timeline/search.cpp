#include "server/features/timeline/search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace hotlens::features {
namespace {

using blocks::Block;
using blocks::Blocks;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool holds(std::string_view text, std::string_view query) {
  return std::ranges::search(text, query, [](char a, char b) { return lower(a) == lower(b); }).begin() != text.end();
}

std::optional<Match::Kind> kind_of(Block::Kind kind) {
  switch (kind) {
    case Block::Kind::stage:
    case Block::Kind::earlier:
      return Match::Kind::stage;
    case Block::Kind::module:
      return Match::Kind::module;
    case Block::Kind::op:
    case Block::Kind::launch:
    case Block::Kind::wait:
      return Match::Kind::op;
    case Block::Kind::kernel:
    case Block::Kind::copy:
    case Block::Kind::communication:
    case Block::Kind::exchange:
      return Match::Kind::kernel;
    default:
      return std::nullopt;
  }
}

// What a person may type for the block: a module by its path or its class.
bool answers(const Blocks& blocks, std::uint32_t block, std::string_view query) {
  if (holds(blocks::name_of(blocks, block), query)) return true;
  if (blocks.blocks[block].kind != Block::Kind::module) return false;
  return holds(blocks.modules[blocks.annotated->owners.calls.value[blocks.blocks[block].id]].class_name, query);
}

Match match_of(const Blocks& blocks, std::uint32_t block, Match::Kind kind) {
  Match match{.kind = kind, .label = blocks::name_of(blocks, block), .detail = {}, .block = block};
  if (kind == Match::Kind::module) {
    match.detail = blocks.modules[blocks.annotated->owners.calls.value[blocks.blocks[block].id]].class_name;
    if (match.label.empty()) match.label = match.detail;
  } else if (kind == Match::Kind::kernel) {
    match.detail = blocks::label_of(blocks, block);
  }
  return match;
}

std::uint32_t distance(std::uint32_t a, std::uint32_t b) {
  return a > b ? a - b : b - a;
}

// What only other steps have, of a module or a stage: its time in each step, and the nearest step that has any.
std::optional<Match> elsewhere(const std::vector<Ns>& by_step, std::uint32_t here) {
  Match match;
  for (std::uint32_t step = 0; step < by_step.size(); ++step) {
    if (by_step[step] <= Ns{}) continue;
    if (step == here) return std::nullopt;
    if (!match.step || distance(step, here) < distance(*match.step, here)) match.step = step;
    match.time += by_step[step];
    ++match.steps;
  }
  match.count = match.steps;
  return match.step ? std::optional(std::move(match)) : std::nullopt;
}

// By step; of a module that the device does nothing for, its host time.
std::vector<Ns> times_of(const profile::Module& module, bool has_device) {
  std::vector<Ns> times = profile::headlines(module, has_device);
  if (std::ranges::all_of(times, [](Ns time) { return time == Ns{}; })) times = profile::headlines(module, false);
  return times;
}

void find_parts_of_other_steps(const Blocks& blocks, const profile::Profile& profile, std::string_view query, std::vector<Match>& matches) {
  const auto here = static_cast<std::uint32_t>(blocks.step);
  const auto is_known = [&](Match::Kind kind, std::string_view label) {
    return std::ranges::any_of(matches, [&](const Match& match) { return match.kind == kind && match.label == label; });
  };
  std::vector<Match> others;
  for (const profile::StageTimes& stage : profile.stages) {
    const std::string_view label = profile::name(stage.stage);
    if (!holds(label, query) || is_known(Match::Kind::stage, label)) continue;
    std::optional<Match> match = elsewhere(stage.wall, here);
    if (!match) match = elsewhere(stage.device, here);
    if (!match) continue;
    match->label = label;
    others.push_back(std::move(*match));
  }
  for (const profile::Module& module : profile.modules) {
    if (!holds(module.path, query) && !holds(module.class_name, query)) continue;
    std::optional<Match> match = elsewhere(times_of(module, profile.has_device()), here);
    if (!match || is_known(Match::Kind::module, module.path)) continue;
    match->kind = Match::Kind::module;
    match->label = module.path.empty() ? module.class_name : module.path;
    match->detail = module.class_name;
    others.push_back(std::move(*match));
  }
  std::ranges::stable_sort(others, std::ranges::greater{}, &Match::time);
  matches.insert(matches.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

// Tells each match in how many steps its name is, and adds those of names that this step lacks.
void look_in_other_steps(const Blocks& blocks, const StepNames& names, std::string_view query, std::vector<Match>& matches) {
  const auto here = static_cast<std::uint32_t>(blocks.step);
  std::map<std::pair<std::string_view, bool>, Match*> known;
  for (Match& match : matches) {
    if (match.kind == Match::Kind::op || match.kind == Match::Kind::kernel)
      known[{match.label, match.kind == Match::Kind::kernel}] = &match;
  }
  std::vector<Match> others;
  for (auto first = names.begin(); first != names.end();) {
    const auto last =
        std::find_if(first, names.end(), [&](const StepName& each) { return each.name != first->name || each.device != first->device; });
    const std::string_view name = blocks.annotated->trace.names[trace::NameId{first->name}];
    const auto steps = static_cast<std::uint32_t>(last - first);
    if (const auto match = known.find({name, first->device}); match != known.end()) {
      match->second->steps = steps;
    } else if (holds(name, query) && std::ranges::none_of(first, last, [&](const StepName& each) { return each.step == here; })) {
      const auto nearest = std::ranges::min_element(first, last, {}, [&](const StepName& each) { return distance(each.step, here); });
      Match found{.kind = first->device ? Match::Kind::kernel : Match::Kind::op,
                  .label = std::string(name),
                  .detail = {},
                  .steps = steps,
                  .step = nearest->step};
      for (auto each = first; each != last; ++each) {
        found.time += each->time;
        found.count += each->count;
      }
      others.push_back(std::move(found));
    }
    first = last;
  }
  std::ranges::stable_sort(others, std::ranges::greater{}, &Match::time);
  matches.insert(matches.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

}  // namespace

Matches search(const Blocks& blocks, const profile::Profile& profile, const StepNames& names, std::string_view query, std::size_t limit) {
  Matches result;
  if (query.empty()) return result;
  const blocks::BlockIndex& index = blocks.index;
  for (const blocks::BlockIndex::Name& name : index.names) {
    const auto kind = kind_of(name.kind);
    const std::uint32_t first = index.by_rank[index.name_rank[name.begin]];
    if (!kind || !answers(blocks, first, query)) continue;
    Match match = match_of(blocks, first, *kind);
    match.time = *kind == Match::Kind::kernel || name.host == Ns{} ? name.device : name.host;
    match.count = name.end - name.begin;
    result.matches.push_back(std::move(match));
  }
  for (std::uint32_t file = 0; file < profile.files.size(); ++file) {
    const std::string path = profile.files[file].path.string();
    if (!holds(path, query)) continue;
    result.matches.push_back({.kind = Match::Kind::file,
                              .label = profile.files[file].path.filename().string(),
                              .detail = path,
                              .file = profile::FileId{file},
                              .count = 1});
  }
  std::ranges::stable_sort(result.matches, [](const Match& a, const Match& b) {
    const bool a_first = a.kind <= Match::Kind::module, b_first = b.kind <= Match::Kind::module;
    return a_first != b_first ? a_first : a.time > b.time;
  });
  find_parts_of_other_steps(blocks, profile, query, result.matches);
  look_in_other_steps(blocks, names, query, result.matches);
  result.total = result.matches.size();
  if (result.matches.size() > limit) result.matches.resize(limit);
  return result;
}

}  // namespace hotlens::features
