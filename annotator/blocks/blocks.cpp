// The first pass: from the account's pieces of time and device work to blocks and their spans.
#include "annotator/blocks/blocks.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "annotator/attribution/account/exchanges.h"
#include "annotator/blocks/block_lanes.h"
#include "annotator/blocks/block_tree.h"
#include "annotator/causes/critical_path.h"

namespace hotlens::blocks {
namespace {

using attribution::Forest;
using attribution::kNoNode;
using attribution::kNothing;
using attribution::Owner;
using attribution::Piece;
using attribution::StepAccount;
using attribution::Work;
using Kind = Block::Kind;

bool same_work(const Owner& a, const Owner& b) {
  return a.call == b.call && a.stage == b.stage && a.direction == b.direction;
}

// One step of the way from the step to a piece of time.
struct Step {
  Kind kind = Kind::stage;
  attribution::Stage stage = attribution::Stage::other;
  attribution::Direction direction = attribution::Direction::forward;
  std::uint32_t id = 0;

  bool is(const Block& block) const { return block.kind == kind && block.stage == stage && block.direction == direction && block.id == id; }
};

// By name: the name of what it evaluates; kNothing for a name that evaluates nothing.
std::vector<std::uint32_t> evaluated_names(const trace::Names& names) {
  std::vector<std::uint32_t> inner(names.size(), kNothing);
  for (std::uint32_t at = 0; at < names.size(); ++at) {
    const std::string_view node = evaluated(names[trace::NameId{at}]);
    if (const auto found = node.empty() ? std::nullopt : names.find(node)) inner[at] = found->index;
  }
  return inner;
}

// None where a device works: there communication is its work.
std::vector<attribution::HostExchange> exchanges_of(const profile::Annotated& annotated) {
  if (!annotated.account.work.empty()) return {};
  return attribution::exchanges_beside(annotated.trace, annotated.forest, annotated.steps);
}

class Ways {
 public:
  explicit Ways(const profile::Annotated& annotated)
      : annotated_(annotated), evaluated_(evaluated_names(annotated.trace.names)), exchanges_(exchanges_of(annotated)) {}

  const std::vector<Step>& to(const Piece& piece) {
    steps_.clear();
    if (piece.lent) {  // of the backward thread: here the main thread only waits for it
      steps_.push_back({Kind::idle, attribution::Stage::other, attribution::Direction::forward, 0});
      return steps_;
    }
    add_owner(piece.owner);
    const std::size_t operators = steps_.size();
    const bool waits = piece.bucket == attribution::Bucket::waiting;
    add_nodes(piece.owner, piece.node, waits ? Kind::wait : Kind::launch);
    if (steps_.size() == operators) steps_.push_back(outside_operators(piece));
    return steps_;
  }

  const std::vector<Step>& to(const Work& work, std::uint32_t at, bool earlier) {
    steps_.clear();
    if (earlier) steps_.push_back({Kind::earlier, attribution::Stage::other, attribution::Direction::forward, 0});
    add_owner(work.owner);
    if (work.launch != kNoNode) {
      // A kernel stands beside its launch, below the operator that called it.
      const bool launch = annotated_.forest.kind[work.launch] == attribution::Kind::launch;
      add_nodes(work.owner, launch ? parent_in(work.owner, work.launch) : work.launch, Kind::launch);
    }
    const auto category = annotated_.trace.events.category[work.event];
    const bool copies = category == trace::Category::copy || category == trace::Category::fill;
    steps_.push_back({copies                    ? Kind::copy
                      : work.owner.communicates ? Kind::communication
                                                : Kind::kernel,
                      work.owner.stage, work.owner.direction, at});
    return steps_;
  }

 private:
  Step outside_operators(const Piece& piece) const {
    if (piece.bucket == attribution::Bucket::communication) {
      if (const std::uint32_t event = exchange_in(piece.start, piece.end); event != kNothing) {
        return {Kind::exchange, piece.owner.stage, attribution::Direction::forward, event};
      }
    }
    return {Kind::idle, attribution::Stage::other, attribution::Direction::forward, 0};
  }

  // The exchange that takes most of a time; kNothing without one.
  std::uint32_t exchange_in(Ns start, Ns end) const {
    std::uint32_t most = kNothing;
    Ns longest{};
    for (const attribution::HostExchange& each : exchanges_) {
      if (each.start >= end) break;
      const Ns inside = std::min(each.end, end) - std::max(each.start, start);
      if (inside <= longest) continue;
      longest = inside;
      most = each.event;
    }
    return most;
  }

  void add_owner(const Owner& owner) {
    if (owner.stage != attribution::Stage::other)
      steps_.push_back({Kind::stage, owner.stage, attribution::Direction::forward, static_cast<std::uint32_t>(owner.stage)});
    const std::size_t modules = steps_.size();
    const attribution::Chains& calls = annotated_.owners.calls;
    for (std::uint32_t call = owner.works_for_module() ? owner.call : kNothing; call != kNothing; call = calls.parent[call]) {
      steps_.push_back({Kind::module, owner.stage, owner.direction, call});
    }
    std::reverse(steps_.begin() + static_cast<std::ptrdiff_t>(modules), steps_.end());
  }

  std::uint32_t parent_in(const Owner& owner, std::uint32_t node) const {
    const std::uint32_t parent = annotated_.forest.parent[node];
    return parent != kNoNode && same_work(annotated_.owners.of[parent], owner) ? parent : kNoNode;
  }

  std::uint32_t name_of_node(std::uint32_t node) const { return annotated_.trace.events.name[annotated_.forest.event[node]].index; }

  // An autograd node inside what evaluates it, directly or inside itself: what takes its time is told of the outermost.
  bool repeats(const Owner& owner, std::uint32_t node) const {
    const std::uint32_t name = name_of_node(node);
    for (std::uint32_t at = parent_in(owner, node); at != kNoNode; at = parent_in(owner, at)) {
      if (evaluated_[name_of_node(at)] == name) return true;
      if (name_of_node(at) != name) return false;
    }
    return false;
  }

  // Operators and launches around and including `node` that do the same owner's work.
  void add_nodes(const Owner& owner, std::uint32_t node, Kind launch) {
    const Forest& forest = annotated_.forest;
    const std::size_t first = steps_.size();
    if (node != kNoNode && !same_work(annotated_.owners.of[node], owner)) return;
    for (; node != kNoNode; node = parent_in(owner, node)) {
      if (forest.kind[node] == attribution::Kind::launch) {
        steps_.push_back({launch, owner.stage, owner.direction, node});
      } else if (forest.kind[node] == attribution::Kind::op && !repeats(owner, node)) {
        steps_.push_back({Kind::op, owner.stage, owner.direction, node});
      }
    }
    std::reverse(steps_.begin() + static_cast<std::ptrdiff_t>(first), steps_.end());
  }

  const profile::Annotated& annotated_;
  std::vector<std::uint32_t> evaluated_;
  std::vector<attribution::HostExchange> exchanges_;
  std::vector<Step> steps_;
};

class Builder {
 public:
  Builder(Blocks& blocks, BlockSpans& spans) : blocks_(blocks), spans_(spans), by_node_(blocks.annotated->forest.size(), kNoBlock) {
    add_block({Kind::step, attribution::Stage::other, attribution::Direction::forward, static_cast<std::uint32_t>(blocks.step)}, kNoBlock);
  }

  void begin_track(std::uint32_t track, bool device) {
    track_ = track;
    device_ = device;
    reached_ = Ns::min();
  }

  void add(const std::vector<Step>& way, Ns start, Ns end) {
    start -= blocks_.start;
    end -= blocks_.start;
    if (start > reached_) close_to(0);
    std::size_t common = 0;
    while (common < open_.size() && common < way.size() && way[common].is(blocks_.blocks[open_[common].block])) ++common;
    close_to(common);
    for (std::size_t at = common; at < way.size(); ++at) {
      const std::uint32_t block = block_at(at == 0 ? kStepBlock : open_.back().block, way[at]);
      open_.push_back({block, static_cast<std::uint32_t>(spans_.size())});
      spans_.block.push_back(block);
      spans_.track.push_back(track_);
      spans_.start.push_back(start);
      spans_.end.push_back(end);
    }
    if (!way.empty() && way.back().kind == Kind::wait) {
      for (const Open& open : open_) blocks_.blocks[open.block].waiting += end - start;
    }
    reached_ = end;
  }

  void end_track() { close_to(0); }
  std::uint32_t innermost() const { return open_.empty() ? kStepBlock : open_.back().block; }

 private:
  struct Open {
    std::uint32_t block = 0, span = 0;
  };

  void close_to(std::size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) {
      const Open& open = open_.back();
      spans_.end[open.span] = reached_;
      Block& block = blocks_.blocks[open.block];
      const Ns start = spans_.start[open.span];
      block.first = std::min(block.first, start);
      block.last = std::max(block.last, reached_);
      (device_ ? block.device : block.host) += reached_ - start;
    }
  }

  std::uint32_t block_at(std::uint32_t parent, const Step& step) {
    switch (step.kind) {
      case Kind::op:
      case Kind::launch:
        return known(by_node_[step.id], parent, step);
      case Kind::idle:
        return known(idle_[parent], parent, step);
      case Kind::kernel:
      case Kind::copy:
      case Kind::communication:
        return add_block(step, parent);
      default: {
        const auto key = std::tuple(parent, step.kind, step.id, step.direction);
        const auto [at, fresh] = others_.try_emplace(key, kNoBlock);
        if (fresh) at->second = add_block(step, parent);
        return at->second;
      }
    }
  }

  std::uint32_t known(std::uint32_t slot, std::uint32_t parent, const Step& step) {
    // A node's way never changes but where device work comes from an earlier step.
    if (slot != kNoBlock && blocks_.blocks[slot].parent == parent) return slot;
    const std::uint32_t block = add_block(step, parent);
    (step.kind == Kind::idle ? idle_[parent] : by_node_[step.id]) = block;
    return block;
  }

  std::uint32_t add_block(const Step& step, std::uint32_t parent) {
    const auto block = static_cast<std::uint32_t>(blocks_.blocks.size());
    blocks_.blocks.push_back({.kind = step.kind,
                              .stage = step.stage,
                              .direction = step.direction,
                              .id = step.id,
                              .parent = parent,
                              .label = 0,
                              .ordinal = 0,
                              .members = 1,
                              .first = Ns::max(),
                              .last = Ns::min()});
    idle_.push_back(kNoBlock);
    return block;
  }

  Blocks& blocks_;
  BlockSpans& spans_;
  std::vector<std::uint32_t> by_node_;  // operators and launches
  std::vector<std::uint32_t> idle_;     // by block: the one inside it
  std::map<std::tuple<std::uint32_t, Kind, std::uint32_t, attribution::Direction>, std::uint32_t> others_;
  std::vector<Open> open_;
  std::uint32_t track_ = 0;
  bool device_ = false;
  Ns reached_ = Ns::min();
};

std::string thread_name(const profile::Annotated& annotated, trace::ThreadId thread, bool runs_backward) {
  const trace::Thread& of = annotated.trace.threads[thread.index];
  return runs_backward ? "CPU backward" : "CPU thread " + of.id.substr(0, 40);
}

// The innermost block of each piece.
std::vector<std::uint32_t> add_host_track(Blocks& blocks, Builder& builder, Ways& ways, const std::vector<Piece>& pieces, std::string name,
                                          std::string id) {
  std::vector<std::uint32_t> innermost;
  innermost.reserve(pieces.size());
  builder.begin_track(static_cast<std::uint32_t>(blocks.tracks.size()), false);
  for (const Piece& piece : pieces) {
    builder.add(ways.to(piece), piece.start, piece.end);
    innermost.push_back(builder.innermost());
  }
  builder.end_track();
  blocks.tracks.push_back({BlockTrack::Kind::host, std::move(id), std::move(name), {}});
  return innermost;
}

bool mostly_backward(const std::vector<Piece>& pieces) {
  Ns all{}, backward{};
  for (const Piece& piece : pieces) {
    all += piece.end - piece.start;
    if (piece.owner.stage == attribution::Stage::backward) backward += piece.end - piece.start;
  }
  return backward * 2 > all;
}

// The innermost block of each piece of the main thread.
std::vector<std::uint32_t> add_host(Blocks& blocks, Builder& builder, Ways& ways) {
  const profile::Annotated& annotated = *blocks.annotated;
  const StepAccount& step = annotated.account.steps[blocks.step];
  std::vector<std::uint32_t> of_main = add_host_track(blocks, builder, ways, step.wall, "CPU main", "main");
  std::size_t backward = 0;
  for (const std::vector<Piece>& worker : step.workers) {
    const auto inside = std::ranges::find_if(worker, [](const Piece& piece) { return piece.node != kNoNode; });
    if (inside == worker.end()) continue;
    const trace::ThreadId thread = annotated.trace.events.thread[annotated.forest.event[inside->node]];
    const bool runs_backward = mostly_backward(worker);
    std::string name = thread_name(annotated, thread, runs_backward);
    if (runs_backward && ++backward > 1) name += " " + std::to_string(backward);
    add_host_track(blocks, builder, ways, worker, std::move(name), "t" + std::to_string(thread.index));
  }
  return of_main;
}

// `of_main`: by piece of the main thread.
void add_path(Blocks& blocks, const std::vector<std::uint32_t>& of_main) {
  const attribution::Account& account = blocks.annotated->account;
  if (account.work.empty()) return;
  const std::vector<Piece>& wall = account.steps[blocks.step].wall;
  for (const causes::PathPart& part : causes::critical_path(account, blocks.step)) {
    PathSpan span{.start = part.start - blocks.start, .end = part.end - blocks.start, .queued = part.on == causes::PathPart::On::queue};
    if (part.on != causes::PathPart::On::host) {
      span.block = blocks.index.block_of_work(part.at);
    } else if (!wall.empty() && part.piece >= wall.data() && part.piece < wall.data() + wall.size()) {
      span.block = of_main[static_cast<std::size_t>(part.piece - wall.data())];
    }
    blocks.path.push_back(span);
  }
}

void add_device(Blocks& blocks, Builder& builder, Ways& ways) {
  const attribution::Account& account = blocks.annotated->account;
  const StepAccount& step = account.steps[blocks.step];
  const std::vector<Lane> lanes = lanes_of(account, step);
  // Communication apart, last.
  std::vector<std::pair<BlockTrack, const Lane*>> tracks;
  for (const Lane& lane : lanes) tracks.emplace_back(device_track(*blocks.annotated, lane), &lane);
  std::ranges::stable_sort(tracks, {}, [](const auto& track) { return track.first.kind; });
  for (auto& [track, lane] : tracks) {
    builder.begin_track(static_cast<std::uint32_t>(blocks.tracks.size()), true);
    for (const std::uint32_t at : lane->work) {
      const Work& work = account.work[at];
      const bool earlier = work.launch == kNoNode || work.launched < step.span.start;
      builder.add(ways.to(work, at, earlier), work.start, work.end);
    }
    builder.end_track();
    blocks.tracks.push_back(std::move(track));
  }
}

}  // namespace

std::shared_ptr<const Blocks> blocks_of(std::shared_ptr<const profile::Annotated> annotated, std::size_t step) {
  auto blocks = std::make_shared<Blocks>();
  const StepAccount& account = annotated->account.steps[step];
  const attribution::StepSpan& span = account.span;
  blocks->annotated = std::move(annotated);
  blocks->step = step;
  blocks->start = span.start;
  blocks->wall = span.end - span.start;
  blocks->takes = blocks->wall + account.behind;
  blocks->modules = profile::names_of_modules(*blocks->annotated);
  BlockSpans spans;
  Builder builder(*blocks, spans);
  Ways ways(*blocks->annotated);
  const std::vector<std::uint32_t> of_main = add_host(*blocks, builder, ways);
  add_device(*blocks, builder, ways);
  group_spans(*blocks, spans);
  index_blocks(*blocks);
  add_path(*blocks, of_main);
  lift_models(*blocks);
  return blocks;
}

}  // namespace hotlens::blocks
