// The second pass: what is inside what, equal neighbours folded, spans by block and track.
#include "annotator/blocks/block_tree.h"

#include <algorithm>
#include <functional>
#include <map>

namespace hotlens::blocks {
namespace {

using Kind = Block::Kind;

// Fewer equal neighbours than this are clearer one by one.
constexpr std::size_t kLeastFold = 3;

void label_blocks(Blocks& blocks) {
  const profile::Annotated& annotated = *blocks.annotated;
  const auto names = static_cast<std::uint32_t>(annotated.trace.names.size());
  const auto stages = names + static_cast<std::uint32_t>(blocks.modules.size());
  const trace::Events& events = annotated.trace.events;
  for (Block& block : blocks.blocks) {
    switch (block.kind) {
      case Kind::module:
        block.label = names + annotated.owners.calls.value[block.id];
        break;
      case Kind::op:
      case Kind::launch:
      case Kind::wait:
        block.label = events.name[annotated.forest.event[block.id]].index;
        break;
      case Kind::exchange:
        block.label = events.name[block.id].index;
        break;
      case Kind::kernel:
      case Kind::copy:
      case Kind::communication:
        block.label = events.name[annotated.account.work[block.id].event].index;
        break;
      default:
        block.label = stages + static_cast<std::uint32_t>(block.kind) * static_cast<std::uint32_t>(attribution::kStages) +
                      static_cast<std::uint32_t>(block.stage);
    }
  }
}

// Positions of the items with one key together, keys ascending, order kept within a key (a counting sort).
struct Grouped {
  std::vector<std::uint32_t> of, items;  // of: by key, and one more
};
template <class Key>
Grouped grouped(std::size_t keys, std::size_t items, Key key) {
  Grouped result{std::vector<std::uint32_t>(keys + 2), std::vector<std::uint32_t>(items)};
  for (std::size_t item = 0; item < items; ++item) ++result.of[key(item) + 2];
  for (std::size_t at = 2; at < result.of.size(); ++at) result.of[at] += result.of[at - 1];
  for (std::uint32_t item = 0; item < items; ++item) result.items[result.of[key(item) + 1]++] = item;
  result.of.pop_back();
  return result;
}

void find_children(Blocks& blocks) {
  // The step has no parent; as its own child it would be visited for ever, so it is left out.
  Grouped children =
      grouped(blocks.blocks.size(), blocks.blocks.size() - 1, [&](std::size_t item) { return blocks.blocks[item + 1].parent; });
  for (std::uint32_t& child : children.items) ++child;
  blocks.child_of = std::move(children.of);
  blocks.children = std::move(children.items);
}

void number_children(Blocks& blocks) {
  struct Seen {
    std::uint32_t parent = kNoBlock, count = 0;
  };
  for (const Block& block : blocks.blocks) blocks.labels = std::max(blocks.labels, block.label + 1);
  std::vector<Seen> seen(blocks.labels);
  for (const std::uint32_t child : blocks.children) {
    Block& block = blocks.blocks[child];
    Seen& last = seen[block.label];
    if (last.parent != block.parent) last = {block.parent, 0};
    block.ordinal = last.count++;
  }
}

std::size_t mixed(std::size_t hash, std::size_t more) {
  return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 7);
}

// By block: equal for modules of one class whose modules are built alike, and for other blocks of one name.
std::vector<std::size_t> builds_of(const Blocks& blocks) {
  std::vector<std::size_t> builds(blocks.blocks.size());
  const attribution::Chains& calls = blocks.annotated->owners.calls;
  for (std::size_t at = blocks.blocks.size(); at-- > 0;) {
    const Block& block = blocks.blocks[at];
    std::size_t build = mixed(static_cast<std::size_t>(block.kind), static_cast<std::size_t>(block.direction));
    if (block.kind != Kind::module) {
      builds[at] = mixed(build, block.label);
      continue;
    }
    const profile::ModuleName& module = blocks.modules[calls.value[block.id]];
    build = module.class_name.empty() ? mixed(build, block.label) : mixed(build, std::hash<std::string>{}(module.class_name));
    for (const std::uint32_t child : blocks.below(static_cast<std::uint32_t>(at))) {
      if (blocks.blocks[child].kind == Kind::module) build = mixed(build, builds[child]);
    }
    builds[at] = build;
  }
  return builds;
}

bool folds(Kind kind) {
  return kind == Kind::module || kind == Kind::op || kind == Kind::kernel || kind == Kind::launch || kind == Kind::copy;
}

void add_fold(Blocks& blocks, const std::vector<std::uint32_t>& members) {
  const auto fold = static_cast<std::uint32_t>(blocks.blocks.size());
  Block block = blocks.blocks[members.front()];
  block.id = members.front();
  block.kind = Kind::fold;
  block.members = static_cast<std::uint32_t>(members.size());
  block.host = block.device = block.waiting = Ns{};
  for (const std::uint32_t member : members) {
    Block& part = blocks.blocks[member];
    part.parent = fold;
    block.first = std::min(block.first, part.first);
    block.last = std::max(block.last, part.last);
    block.host += part.host;
    block.device += part.device;
    block.waiting += part.waiting;
  }
  blocks.blocks.push_back(block);
}

void add_folds(Blocks& blocks) {
  const std::vector<std::size_t> builds = builds_of(blocks);
  const auto count = static_cast<std::uint32_t>(blocks.child_of.size() - 1);
  std::vector<std::uint32_t> run;
  for (std::uint32_t parent = 0; parent < count; ++parent) {
    const auto finish = [&] {
      if (run.size() >= kLeastFold) add_fold(blocks, run);
      run.clear();
    };
    for (const std::uint32_t child : blocks.below(parent)) {
      if (blocks.blocks[child].kind == Kind::idle) continue;
      if (!run.empty() && builds[run.front()] != builds[child]) finish();
      if (folds(blocks.blocks[child].kind)) run.push_back(child);
    }
    finish();
  }
}

// Writes the groups of one block after the other; blocks without spans inside have none.
class Groups {
 public:
  Groups(Blocks& blocks, const BlockSpans& spans) : blocks_(blocks), spans_(spans), ranges_(blocks.blocks.size()) {
    blocks.span_block.reserve(spans.size());
    blocks.span_kind.reserve(spans.size());
    blocks.span_start.reserve(spans.size());
    blocks.span_end.reserve(spans.size());
  }

  // `inside`: spans of everything inside `parent` but in no child of it, by track, then start.
  void add(std::uint32_t parent, std::span<const std::uint32_t> inside) {
    const bool has_folds = std::ranges::any_of(inside, [&](std::uint32_t span) { return fold_of(span) != kNoBlock; });
    open(parent);
    for (std::size_t at = 0; at < inside.size(); ++at) {
      const std::uint32_t span = inside[at];
      const std::uint32_t fold = !has_folds ? kNoBlock : between_members(inside, at) ? fold_of(inside[at - 1]) : fold_of(span);
      if (fold == kNoBlock) {
        put(spans_.track[span], spans_.block[span], spans_.start[span], spans_.end[span]);
      } else if (!grow(fold, span)) {
        put(spans_.track[span], fold, spans_.start[span], spans_.end[span]);
      }
    }
    close(parent);
    if (has_folds) add_members(inside);
  }

  void finish() {
    std::vector<BlockGroup> ordered;
    ordered.reserve(groups_.size());
    blocks_.group_of.reserve(ranges_.size() + 1);
    for (const auto& [begin, end] : ranges_) {
      blocks_.group_of.push_back(static_cast<std::uint32_t>(ordered.size()));
      ordered.insert(ordered.end(), groups_.begin() + begin, groups_.begin() + end);
    }
    blocks_.group_of.push_back(static_cast<std::uint32_t>(ordered.size()));
    blocks_.groups = std::move(ordered);
  }

 private:
  std::uint32_t fold_of(std::uint32_t span) const {
    const std::uint32_t parent = blocks_.blocks[spans_.block[span]].parent;
    return parent != kNoBlock && blocks_.blocks[parent].kind == Kind::fold ? parent : kNoBlock;
  }

  // Time without an operator between two members of one fold is the fold's.
  bool between_members(std::span<const std::uint32_t> inside, std::size_t at) const {
    if (blocks_.blocks[spans_.block[inside[at]]].kind != Kind::idle || at == 0 || at + 1 == inside.size()) return false;
    const std::uint32_t before = inside[at - 1], after = inside[at + 1];
    return fold_of(before) != kNoBlock && fold_of(before) == fold_of(after) && spans_.track[before] == spans_.track[after];
  }

  bool grow(std::uint32_t fold, std::uint32_t span) {
    if (blocks_.span_block.size() == first_ || blocks_.span_block.back() != fold || groups_.back().track != spans_.track[span])
      return false;
    if (blocks_.span_end.back() != spans_.start[span]) return false;
    blocks_.span_end.back() = spans_.end[span];
    return true;
  }

  void open(std::uint32_t parent) {
    ranges_[parent].first = static_cast<std::uint32_t>(groups_.size());
    first_ = blocks_.span_block.size();
    fresh_ = true;
  }

  void put(std::uint32_t track, std::uint32_t block, Ns start, Ns end) {
    const auto at = static_cast<std::uint32_t>(blocks_.span_block.size());
    if (fresh_ || groups_.back().track != track) groups_.push_back({track, at, at});
    fresh_ = false;
    blocks_.span_block.push_back(block);
    blocks_.span_kind.push_back(blocks_.blocks[block].kind);
    blocks_.span_start.push_back(start);
    blocks_.span_end.push_back(end);
    groups_.back().end = at + 1;
  }

  void close(std::uint32_t parent) { ranges_[parent].second = static_cast<std::uint32_t>(groups_.size()); }

  void add_members(std::span<const std::uint32_t> inside) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;
    for (const std::uint32_t span : inside) {
      if (const std::uint32_t fold = fold_of(span); fold != kNoBlock) members[fold].push_back(span);
    }
    for (const auto& [fold, spans] : members) {
      open(fold);
      for (const std::uint32_t span : spans) put(spans_.track[span], spans_.block[span], spans_.start[span], spans_.end[span]);
      close(fold);
    }
  }

  Blocks& blocks_;
  const BlockSpans& spans_;
  std::vector<BlockGroup> groups_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;  // by block: into groups_
  std::size_t first_ = 0;
  bool fresh_ = true;
};

void extend_step(Blocks& blocks) {
  Block& step = blocks.blocks[kStepBlock];
  step.first = Ns{};
  step.last = blocks.wall;
  for (const std::uint32_t child : blocks.below(kStepBlock)) {
    const Block& block = blocks.blocks[child];
    step.waiting += block.kind == Kind::idle ? Ns{} : block.waiting;
    if (block.kind == Kind::earlier) continue;
    step.last = std::max(step.last, block.last);
    step.device += block.device;
  }
  step.host = blocks.wall;
}

}  // namespace

void group_spans(Blocks& blocks, const BlockSpans& spans) {
  label_blocks(blocks);
  find_children(blocks);
  number_children(blocks);
  extend_step(blocks);
  const Grouped by_parent =
      grouped(blocks.blocks.size(), spans.size(), [&](std::size_t span) { return blocks.blocks[spans.block[span]].parent; });
  const auto unfolded = static_cast<std::uint32_t>(blocks.blocks.size());
  add_folds(blocks);
  Groups groups(blocks, spans);
  for (std::uint32_t parent = 0; parent < unfolded; ++parent) {
    const std::uint32_t begin = by_parent.of[parent], end = by_parent.of[parent + 1];
    if (begin < end) groups.add(parent, std::span(by_parent.items).subspan(begin, end - begin));
  }
  groups.finish();
  find_pauses(blocks);
}

std::span<const BlockGroup> Blocks::groups_below(std::uint32_t block) const {
  return std::span(groups).subspan(group_of[block], group_of[block + 1] - group_of[block]);
}

std::span<const std::uint32_t> Blocks::below(std::uint32_t block) const {
  if (block + 1 >= child_of.size()) return {};
  return std::span(children).subspan(child_of[block], child_of[block + 1] - child_of[block]);
}

}  // namespace hotlens::blocks
