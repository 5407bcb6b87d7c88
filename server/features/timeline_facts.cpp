#include "server/features/timeline_facts.h"

#include <algorithm>
#include <utility>

namespace hotlens::features {
namespace {

using profile::Block;
using profile::BlockGroup;
using profile::Blocks;
using profile::BlockTrack;
using profile::Profile;
using timeline::kNoNode;
using timeline::kNothing;
using Kind = Block::Kind;

bool is_work(Kind kind) {
  return kind == Kind::kernel || kind == Kind::copy || kind == Kind::communication;
}

bool nests(Kind kind) {
  return kind == Kind::op || kind == Kind::launch || kind == Kind::wait;
}

// How long the device works on these pieces of work (positions in Account::work, any order): overlaps count once. Work lies in order of
// time, so marking it sorts it; a subtree may hold a million pieces.
Ns union_of(const Blocks& blocks, const std::vector<std::uint32_t>& work) {
  if (work.empty()) return {};
  const auto [least, most] = std::ranges::minmax(work);
  std::vector<bool> taken(most - least + 1);
  for (const std::uint32_t at : work) taken[at - least] = true;
  Ns busy{}, covered = Ns::min();
  for (std::uint32_t at = least; at <= most; ++at) {
    if (!taken[at - least]) continue;
    const timeline::Work& piece = blocks.annotated->account.work[at];
    const Ns from = std::max(piece.start, covered);
    if (piece.end > from) busy += piece.end - from;
    covered = std::max(covered, piece.end);
  }
  return busy;
}

std::uint32_t outside_folds(const Blocks& blocks, std::uint32_t block) {
  return blocks.blocks[block].kind == Kind::fold ? blocks.blocks[block].parent : block;
}

void add_sites(const Profile& profile, profile::ModuleId id, std::vector<Place>& places) {
  const profile::Module& module = profile.at(id);
  if (module.attached) places.push_back({Place::What::definition, *module.attached});
  if (module.constructed) places.push_back({Place::What::definition, *module.constructed});
  for (const profile::CallSite& call : profile.call_sites) {
    if (std::ranges::find(call.modules, id) != call.modules.end()) places.push_back({Place::What::call, call.site});
  }
  if (module.class_site) places.push_back({Place::What::type, *module.class_site});
}

// The line that ran, of an operator or what it launched.
void add_line(const Blocks& blocks, std::uint32_t line, std::vector<Place>& places) {
  const auto& model = blocks.annotated->model;
  const timeline::Chains& lines = blocks.annotated->owners.lines;
  if (!model || line == kNothing || lines.value[line] >= model->lines.size()) return;
  const profile::ModelLine& at = model->lines[lines.value[line]];
  if (at.file.valid())
    places.push_back({Place::What::call, {.file = at.file, .line = at.line, .end_line = at.line, .function = at.function}});
}

const timeline::Owner* owner_of(const Blocks& blocks, const Block& block) {
  if (nests(block.kind)) return &blocks.annotated->owners.of[block.id];
  if (is_work(block.kind)) return &blocks.annotated->account.work[block.id].owner;
  return nullptr;
}

std::string track_of_thread(const Blocks& blocks, std::uint32_t node) {
  const profile::Annotated& annotated = *blocks.annotated;
  const trace::ThreadId thread = annotated.trace.events.thread[annotated.forest.event[node]];
  const bool main = annotated.steps.main != kNoNode && annotated.forest.threads[annotated.steps.main].id == thread;
  return main ? "main" : "t" + std::to_string(thread.index);
}

// The track on which a piece of device work is drawn.
std::uint32_t track_of_work(const Blocks& blocks, std::uint32_t block) {
  for (const BlockGroup& group : blocks.groups_below(blocks.blocks[block].parent)) {
    const auto first = blocks.span_start.begin();
    const auto at =
        static_cast<std::uint32_t>(std::lower_bound(first + group.begin, first + group.end, blocks.blocks[block].first) - first);
    if (at < group.end && blocks.span_block[at] == block) return group.track;
  }
  return 0;
}

}  // namespace

std::vector<std::uint32_t> subtree(const Blocks& blocks, std::uint32_t block) {
  std::vector<std::uint32_t> todo = blocks.blocks[block].kind == Kind::fold ? profile::folded(blocks, block) : std::vector{block};
  for (std::size_t at = 0; at < todo.size(); ++at) {
    for (const std::uint32_t child : blocks.below(todo[at])) {
      if (blocks.blocks[child].kind != Kind::earlier) todo.push_back(child);
    }
  }
  return todo;
}

std::optional<std::uint32_t> first_of_module(const Blocks& blocks, std::string_view path) {
  for (std::uint32_t at = 0; at < blocks.blocks.size(); ++at) {
    const Block& block = blocks.blocks[at];
    if (block.kind == Kind::module && blocks.modules[blocks.annotated->owners.calls.value[block.id]].path == path) return at;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> first_of_stage(const Blocks& blocks, profile::Stage stage) {
  const auto at =
      std::ranges::find_if(blocks.blocks, [&](const Block& block) { return block.kind == Kind::stage && block.stage == stage; });
  if (at == blocks.blocks.end()) return std::nullopt;
  return static_cast<std::uint32_t>(at - blocks.blocks.begin());
}

profile::ModuleId module_of(const Blocks& blocks, const Profile& profile, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (of.kind == Kind::fold) return module_of(blocks, profile, of.id);
  if (of.kind != Kind::module) return {};
  const std::string& path = blocks.modules[blocks.annotated->owners.calls.value[of.id]].path;
  const auto module = std::ranges::find(profile.modules, path, &profile::Module::path);
  if (module == profile.modules.end()) return {};
  return profile::ModuleId{static_cast<std::uint32_t>(module - profile.modules.begin())};
}

BlockTimes times_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  BlockTimes times{.host = of.host, .host_self = of.host, .waiting = of.waiting, .span = of.last - of.first};
  std::vector<std::uint32_t> work;
  for (const std::uint32_t at : subtree(blocks, block)) {
    if (is_work(blocks.blocks[at].kind)) work.push_back(blocks.blocks[at].id);
  }
  times.device = union_of(blocks, work);
  for (const std::uint32_t instance : of.kind == Kind::fold ? profile::folded(blocks, block) : std::vector{block}) {
    const bool nested = nests(blocks.blocks[instance].kind);
    for (const std::uint32_t child : blocks.below(instance)) {
      const Block& part = blocks.blocks[child];
      if (nested ? nests(part.kind) : part.kind == Kind::module || part.kind == Kind::stage) times.host_self -= part.host;
    }
  }
  return times;
}

std::vector<Use> uses_of(const Blocks& blocks, std::uint32_t block) {
  struct Sum {
    std::uint32_t first = profile::kNoBlock;  // of the blocks of one label
    std::int64_t calls = 0;
    Ns time{};
  };
  std::vector<Sum> device(blocks.labels), host(blocks.labels);  // by label
  bool any_work = false;
  for (const std::uint32_t at : subtree(blocks, block)) {
    const Block& part = blocks.blocks[at];
    const bool work = is_work(part.kind);
    if (!work && part.kind != Kind::op) continue;
    any_work = any_work || work;
    Sum& sum = (work ? device : host)[part.label];
    if (sum.calls++ == 0) sum.first = at;
    sum.time += work ? part.device : part.host;
    const bool outermost = at == block || (part.parent == block && blocks.blocks[block].kind == Kind::fold);
    if (work || outermost) continue;
    const Block& around = blocks.blocks[outside_folds(blocks, part.parent)];
    if (around.kind == Kind::op) host[around.label].time -= part.host;
  }
  std::vector<Use> list;
  for (const Sum& sum : any_work ? device : host) {
    if (sum.time > Ns{} && sum.calls > 0)
      list.push_back({.name = profile::name_of(blocks, sum.first), .device = any_work, .calls = sum.calls, .time = sum.time});
  }
  std::ranges::sort(list, [](const Use& a, const Use& b) { return a.time != b.time ? a.time > b.time : a.name < b.name; });
  if (list.size() > kMaxKernels) list.resize(kMaxKernels);
  return list;
}

std::vector<Place> places_of(const Blocks& blocks, const Profile& profile, std::uint32_t block) {
  std::vector<Place> places;
  const Block& of = blocks.blocks[block];
  if (of.kind == Kind::fold) return places_of(blocks, profile, of.id);
  if (const profile::ModuleId id = module_of(blocks, profile, block); id.valid()) add_sites(profile, id, places);
  if (of.kind == Kind::stage) {
    for (const profile::StageSite& site : profile.stage_sites) {
      if (site.stage == of.stage) places.push_back({Place::What::stage, site.site});
    }
  }
  if (const timeline::Owner* owner = owner_of(blocks, of)) {
    add_line(blocks, owner->line, places);
    if (owner->made_line != owner->line) add_line(blocks, owner->made_line, places);
  }
  std::erase_if(places, [&](const Place& place) { return place.site.file.index >= profile.files.size(); });
  return places;
}

std::string_view name(Place::What what) {
  switch (what) {
    case Place::What::definition:
      return "definition";
    case Place::What::call:
      return "call";
    case Place::What::type:
      return "class";
    case Place::What::stage:
      return "stage";
  }
  return "";
}

Arrows arrows_of(const Blocks& blocks, std::uint32_t block) {
  const profile::Annotated& annotated = *blocks.annotated;
  const Kind kind = blocks.blocks[block].kind;
  // A launch's work hangs beside it.
  const bool launch = kind == Kind::launch || kind == Kind::wait;
  const std::uint32_t node = launch ? blocks.blocks[block].id : kNoNode;
  std::vector<std::uint32_t> work;
  for (const std::uint32_t at : subtree(blocks, launch ? blocks.blocks[block].parent : block)) {
    if (!is_work(blocks.blocks[at].kind)) continue;
    const std::uint32_t from = annotated.account.work[blocks.blocks[at].id].launch;
    if (from != kNoNode && (!launch || from == node)) work.push_back(at);
  }
  Arrows arrows{.arrows = {}, .total = work.size()};
  const auto shown = work.begin() + static_cast<std::ptrdiff_t>(std::min(work.size(), kMaxArrows));
  std::ranges::partial_sort(work, shown, {}, [&](std::uint32_t at) { return std::pair(blocks.blocks[at].first, at); });
  work.erase(shown, work.end());
  for (const std::uint32_t at : work) {
    const timeline::Work& item = annotated.account.work[blocks.blocks[at].id];
    arrows.arrows.push_back({.launch_track = track_of_thread(blocks, item.launch),
                             .device_track = blocks.tracks[track_of_work(blocks, at)].id,
                             .launch = annotated.forest.start[item.launch] - blocks.start,
                             .start = item.start - blocks.start,
                             .end = item.end - blocks.start,
                             .delay = std::max(Ns{}, item.start - annotated.forest.end[item.launch]),
                             .work = at});
  }
  return arrows;
}

std::string_view shapes_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (of.kind != Kind::op) return {};
  const trace::Trace& trace = blocks.annotated->trace;
  const auto row = trace::row_of(trace.inputs.event, blocks.annotated->forest.event[of.id]);
  return row ? trace.inputs_text[trace.inputs.shapes[*row]] : std::string_view();
}

}  // namespace hotlens::features
