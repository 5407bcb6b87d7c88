#include "server/features/timeline/facts.h"

#include <algorithm>
#include <span>
#include <utility>

#include "annotator/causes/verdict.h"

namespace hotlens::features {
namespace {

using attribution::kNoNode;
using attribution::kNothing;
using blocks::Block;
using blocks::BlockGroup;
using blocks::Blocks;
using profile::Profile;
using BlockKind = Block::Kind;

bool is_work(BlockKind kind) {
  return kind == BlockKind::kernel || kind == BlockKind::copy || kind == BlockKind::communication;
}

bool nests(BlockKind kind) {
  return kind == BlockKind::op || kind == BlockKind::launch || kind == BlockKind::wait;
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
  const attribution::Chains& lines = blocks.annotated->owners.lines;
  if (!model || line == kNothing || lines.value[line] >= model->lines.size()) return;
  const profile::ModelLine& at = model->lines[lines.value[line]];
  if (at.file.valid())
    places.push_back({Place::What::call, {.file = at.file, .line = at.line, .end_line = at.line, .function = at.function}});
}

const attribution::Owner* owner_of(const Blocks& blocks, const Block& block) {
  if (nests(block.kind)) return &blocks.annotated->owners.of[block.id];
  if (is_work(block.kind)) return &blocks.annotated->account.work[block.id].owner;
  return nullptr;
}

std::uint32_t number_of_module(const Blocks& blocks, std::uint32_t block) {
  return blocks.annotated->owners.calls.value[blocks.blocks[block].id];
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

std::optional<std::uint32_t> first_of_module(const Blocks& blocks, std::string_view path) {
  for (const blocks::BlockIndex::Name& name : blocks.index.names) {
    const std::uint32_t first = blocks.index.by_rank[blocks.index.name_rank[name.begin]];
    if (name.kind == BlockKind::module && blocks.modules[number_of_module(blocks, first)].path == path) return first;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> first_of_stage(const Blocks& blocks, profile::Stage stage) {
  for (const std::uint32_t child : blocks.below(blocks::kStepBlock)) {
    if (blocks.blocks[child].kind == BlockKind::stage && blocks.blocks[child].stage == stage) return child;
  }
  return std::nullopt;
}

profile::ModuleId module_of(const Blocks& blocks, const Profile& profile, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (of.kind == BlockKind::fold) return module_of(blocks, profile, of.id);
  if (of.kind != BlockKind::module) return {};
  const std::string& path = blocks.modules[number_of_module(blocks, block)].path;
  const auto module = std::ranges::find(profile.modules, path, &profile::Module::path);
  if (module == profile.modules.end()) return {};
  return profile::ModuleId{static_cast<std::uint32_t>(module - profile.modules.begin())};
}

BlockTimes times_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  BlockTimes times{
      .host = of.host, .host_self = of.host, .device = blocks.index.device[block], .waiting = of.waiting, .span = of.last - of.first};
  for (const std::uint32_t instance : of.kind == BlockKind::fold ? blocks::folded(blocks, block) : std::vector{block}) {
    const bool nested = nests(blocks.blocks[instance].kind);
    for (const std::uint32_t child : blocks.below(instance)) {
      const Block& part = blocks.blocks[child];
      if (nested ? nests(part.kind) : part.kind == BlockKind::module || part.kind == BlockKind::stage) times.host_self -= part.host;
    }
  }
  return times;
}

std::optional<profile::Verdict> verdict_of(const Blocks& blocks, const Profile& profile, std::uint32_t block) {
  if (const profile::ModuleId id = module_of(blocks, profile, block); id.valid()) return causes::judge(profile, std::span(&id, 1));
  if (block == blocks::kStepBlock && blocks.step == profile.representative) return profile.verdict;
  return std::nullopt;
}

std::int64_t calls_of(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[blocks.blocks[block].kind == BlockKind::fold ? blocks.blocks[block].id : block];
  const blocks::BlockIndex::Name* name = blocks.index.named(of.kind, of.label);
  return name == nullptr ? 0 : name->end - name->begin;
}

std::vector<Use> uses_of(const Blocks& blocks, std::uint32_t block) {
  const blocks::BlockIndex& index = blocks.index;
  std::vector<blocks::BlockIndex::Sum> device, host;
  for (const blocks::BlockIndex::Name& name : index.names) {
    if (!is_work(name.kind) && name.kind != BlockKind::op) continue;
    const blocks::BlockIndex::Sum sum = index.sum(name, index.ranks[block]);
    if (sum.calls > 0) (is_work(name.kind) ? device : host).push_back(sum);
  }
  const bool any_work = !device.empty();
  std::vector<Use> list;
  for (const blocks::BlockIndex::Sum& sum : any_work ? device : host) {
    if (sum.own > Ns{})
      list.push_back({.name = blocks::name_of(blocks, sum.first), .device = any_work, .calls = sum.calls, .time = sum.own});
  }
  std::ranges::sort(list, [](const Use& a, const Use& b) { return a.time != b.time ? a.time > b.time : a.name < b.name; });
  return list;
}

std::vector<Place> places_of(const Blocks& blocks, const Profile& profile, std::uint32_t block) {
  std::vector<Place> places;
  const Block& of = blocks.blocks[block];
  if (of.kind == BlockKind::fold) return places_of(blocks, profile, of.id);
  if (const profile::ModuleId id = module_of(blocks, profile, block); id.valid()) add_sites(profile, id, places);
  if (of.kind == BlockKind::stage) {
    for (const profile::StageSite& site : profile.stage_sites) {
      if (site.stage == of.stage) places.push_back({Place::What::stage, site.site});
    }
  }
  if (const attribution::Owner* owner = owner_of(blocks, of)) {
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

Arrows arrows_of(const Blocks& blocks, std::uint32_t block, Ns from, Ns to) {
  const profile::Annotated& annotated = *blocks.annotated;
  const blocks::BlockIndex& index = blocks.index;
  const Block& of = blocks.blocks[block];
  // A launch's work hangs beside it.
  const bool launch = of.kind == BlockKind::launch || of.kind == BlockKind::wait;
  const std::uint32_t node = launch ? of.id : kNoNode;
  const blocks::BlockIndex::Ranks below = index.ranks[launch ? of.parent : block];
  const bool all = from <= of.first && to >= of.last;
  const auto seen = [&](Ns at) { return at >= from && at <= to; };
  // Work begins after its launch, so what began before the window was launched before it.
  const auto work_from = annotated.account.work.begin() + index.first_work;
  const auto first = all ? work_from
                         : std::lower_bound(work_from, work_from + static_cast<std::ptrdiff_t>(index.work_block.size()), from,
                                            [&](const attribution::Work& work, Ns time) { return work.start - blocks.start < time; });
  std::vector<std::uint32_t> found;
  for (const std::uint32_t at : std::span(index.work_block).subspan(static_cast<std::size_t>(first - work_from))) {
    if (at == blocks::kNoBlock || !below.hold(index.ranks[at].begin)) continue;
    const attribution::Work& work = annotated.account.work[blocks.blocks[at].id];
    if (work.launch == kNoNode || (launch && work.launch != node)) continue;
    if (all || seen(work.start - blocks.start) || seen(annotated.forest.start[work.launch] - blocks.start)) found.push_back(at);
  }
  Arrows arrows{.arrows = {}, .total = found.size()};
  const std::size_t every = std::max<std::size_t>(1, (found.size() + kMaxArrows - 1) / kMaxArrows);
  for (std::size_t position = 0; position < found.size(); position += every) {
    const std::uint32_t at = found[position];
    const attribution::Work& item = annotated.account.work[blocks.blocks[at].id];
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
  if (of.kind != BlockKind::op) return {};
  const trace::Trace& trace = blocks.annotated->trace;
  const auto row = trace::row_of(trace.inputs.event, blocks.annotated->forest.event[of.id]);
  return row ? trace.inputs_text[trace.inputs.shapes[*row]] : std::string_view();
}

}  // namespace hotlens::features
