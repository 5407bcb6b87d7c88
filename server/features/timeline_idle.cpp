#include "server/features/timeline_idle.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "annotator/causes/gap.h"

namespace hotlens::features {
namespace {

using attribution::kNoNode;
using attribution::kNothing;
using attribution::Piece;
using attribution::Work;
using blocks::Blocks;
using causes::GapPart;

constexpr std::string_view kOutside = "Python or other code outside operators";

// A gap between what a host track runs, as the main thread's pieces tell it.
std::optional<attribution::Interval> host_gap(const std::vector<Piece>& pieces, Ns at) {
  auto piece = std::ranges::upper_bound(pieces, at, {}, &Piece::end);
  if (piece == pieces.end() || piece->start > at || piece->node != kNoNode) return std::nullopt;
  auto first = piece, last = piece;
  while (first != pieces.begin() && std::prev(first)->node == kNoNode && std::prev(first)->end == first->start) --first;
  while (std::next(last) != pieces.end() && std::next(last)->node == kNoNode && std::next(last)->start == last->end) ++last;
  return attribution::Interval{first->start, last->end};
}

// A stretch of time and the innermost Python function around it that a person wrote; empty where there is none.
struct Running {
  Ns start{}, end{};
  std::string_view function;
};

// The main thread's Python frames in a window, where the trace has them.
class Frames {
 public:
  Frames(const profile::Annotated& annotated, Ns from, Ns to) : trace_(annotated.trace), reached_(from) {
    const trace::Events& events = trace_.events;
    std::vector<std::uint32_t> frames;
    for (std::uint32_t event = 0; event < events.size() && annotated.steps.main != kNoNode; ++event) {
      if (events.category[event] != trace::Category::python || events.start[event] >= to || events.end(event) <= from) continue;
      if (events.thread[event] != annotated.forest.threads[annotated.steps.main].id || !is_own(name(event))) continue;
      frames.push_back(event);
    }
    std::ranges::sort(frames, {}, [&](std::uint32_t frame) { return std::pair(events.start[frame], -events.duration[frame]); });
    for (const std::uint32_t frame : frames) {
      close(std::min(events.start[frame], to));
      open_.push_back(frame);
    }
    close(to);
    run_until(to);
  }

  // By start, without a gap.
  const std::vector<Running>& running() const { return running_; }

 private:
  std::string_view name(std::uint32_t event) const { return trace_.names[trace_.events.name[event]]; }

  void run_until(Ns when) {
    if (when > reached_) running_.push_back({reached_, when, open_.empty() ? std::string_view() : name(open_.back())});
    reached_ = std::max(reached_, when);
  }

  // Frames that have ended by then give way to those around them.
  void close(Ns when) {
    while (!open_.empty() && trace_.events.end(open_.back()) <= when) {
      run_until(trace_.events.end(open_.back()));
      open_.pop_back();
    }
    run_until(when);
  }

  // "train.py(41): rollout"; neither a module's frame nor a builtin, nor what torch itself runs.
  static bool is_own(std::string_view name) {
    return name.contains(".py(") && !name.starts_with("torch/") && !name.contains("site-packages/torch/") && !name.starts_with("<");
  }

  const trace::Trace& trace_;
  Ns reached_;
  std::vector<std::uint32_t> open_;
  std::vector<Running> running_;
};

// What the main thread did, added up by what it was.
class Doings {
 public:
  Doings(const Blocks& blocks, Ns from, Ns to) : annotated_(*blocks.annotated), frames_(annotated_, from, to) {}

  void add(const Piece& piece, Ns start, Ns end) {
    const std::vector<Running>& running = frames_.running();
    for (auto each = std::ranges::upper_bound(running, start, {}, &Running::end); each != running.end() && each->start < end; ++each) {
      add(piece, each->function, std::min(end, each->end) - std::max(start, each->start));
    }
  }

  // The launch itself.
  void add(const Idle::Next& next, Ns time) {
    all_.push_back(
        {.what = next.caller.empty() ? next.launch : next.launch + " of " + next.caller, .waits = false, .line = {}, .time = time});
  }

  std::vector<Idle::Doing> take() {
    std::ranges::stable_sort(all_, std::ranges::greater{}, &Idle::Doing::time);
    return std::move(all_);
  }

 private:
  void add(const Piece& piece, std::string_view function, Ns time) {
    const std::uint32_t around = outermost(piece.node);
    const bool waits = piece.bucket == attribution::Bucket::waiting;
    std::string what(around != kNoNode ? name(around) : !function.empty() ? function : kOutside);
    if (around != kNoNode && !function.empty()) what += " in " + std::string(function);
    const std::optional<std::uint32_t> line = line_of(piece);
    const auto [at, fresh] = known_.try_emplace({what, waits, line}, all_.size());
    if (fresh) all_.push_back({.what = std::move(what), .waits = waits, .line = line, .time = {}});
    all_[at->second].time += time;
  }

  std::string_view name(std::uint32_t node) const {
    return annotated_.trace.names[annotated_.trace.events.name[annotated_.forest.event[node]]];
  }

  std::uint32_t outermost(std::uint32_t node) const {
    std::uint32_t found = kNoNode;
    for (; node != kNoNode; node = annotated_.forest.parent[node]) {
      const attribution::Kind kind = annotated_.forest.kind[node];
      if (kind == attribution::Kind::op || (kind == attribution::Kind::launch && found == kNoNode)) found = node;
    }
    return found;
  }

  std::optional<std::uint32_t> line_of(const Piece& piece) const {
    if (!annotated_.model || piece.owner.line == kNothing) return std::nullopt;
    const std::uint32_t line = annotated_.owners.lines.value[piece.owner.line];
    return line < annotated_.model->lines.size() ? std::optional(line) : std::nullopt;
  }

  const profile::Annotated& annotated_;
  Frames frames_;
  std::map<std::tuple<std::string, bool, std::optional<std::uint32_t>>, std::size_t> known_;
  std::vector<Idle::Doing> all_;
};

// The first work on the device that begins where the gap ends.
std::uint32_t work_at(const Blocks& blocks, const std::string& device, Ns when) {
  const std::vector<Work>& work = blocks.annotated->account.work;
  auto at = std::ranges::lower_bound(work, when, {}, &Work::start);
  for (; at != work.end() && at->start == when; ++at) {
    if (blocks.annotated->trace.threads[at->stream.index].process == device) return static_cast<std::uint32_t>(at - work.begin());
  }
  return kNoNode;
}

std::uint32_t block_of(const Blocks& blocks, std::uint32_t work) {
  const blocks::BlockIndex& index = blocks.index;
  if (work < index.first_work || work - index.first_work >= index.work_block.size()) return blocks::kNoBlock;
  return index.work_block[work - index.first_work];
}

std::optional<Idle::Next> next_of(const Blocks& blocks, std::uint32_t work) {
  if (work == kNoNode) return std::nullopt;
  const profile::Annotated& annotated = *blocks.annotated;
  const Work& item = annotated.account.work[work];
  Idle::Next next{.block = block_of(blocks, work)};
  if (next.block == blocks::kNoBlock) return std::nullopt;
  if (item.launch == kNoNode) return next;
  const auto name = [&](std::uint32_t node) {
    return std::string(annotated.trace.names[annotated.trace.events.name[annotated.forest.event[node]]]);
  };
  next.launch = name(item.launch);
  next.launched = item.launched - blocks.start;
  next.launching = item.queued - item.launched;
  next.delay = std::max(Ns{}, item.start - item.queued);
  std::uint32_t caller = annotated.forest.parent[item.launch];
  while (caller != kNoNode && annotated.forest.kind[caller] != attribution::Kind::op) caller = annotated.forest.parent[caller];
  if (caller != kNoNode) next.caller = name(caller);
  return next;
}

std::optional<Idle> idle_host(const Blocks& blocks, Ns at) {
  const std::vector<Piece>& wall = blocks.annotated->account.steps[blocks.step].wall;
  const auto gap = host_gap(wall, blocks.start + at);
  if (!gap) return std::nullopt;
  Doings doings(blocks, gap->start, gap->end);
  for (auto piece = std::ranges::upper_bound(wall, gap->start, {}, &Piece::end); piece != wall.end() && piece->start < gap->end; ++piece) {
    doings.add(*piece, std::max(piece->start, gap->start), std::min(piece->end, gap->end));
  }
  return Idle{.start = gap->start - blocks.start, .end = gap->end - blocks.start, .parts = {}, .doing = doings.take(), .next = {}};
}

std::optional<Idle> idle_device(const Blocks& blocks, const std::string& device, Ns at) {
  const auto gaps = blocks.gaps.find(device);
  if (gaps == blocks.gaps.end()) return std::nullopt;
  const auto gap = std::ranges::upper_bound(gaps->second, at, {}, &attribution::Interval::end);
  if (gap == gaps->second.end() || gap->start > at) return std::nullopt;
  const profile::Annotated& annotated = *blocks.annotated;
  const std::uint32_t work = work_at(blocks, device, blocks.start + gap->end);
  const attribution::Gap of{blocks.start + gap->start, blocks.start + gap->end, work};
  Idle idle{.start = gap->start, .end = gap->end, .parts = {}, .doing = {}, .next = next_of(blocks, work)};
  std::map<profile::Cause, Ns> sums;
  Doings doings(blocks, of.start, of.end);
  for (const GapPart& part : causes::parts_of(annotated.forest, annotated.account, annotated.account.steps[blocks.step], of)) {
    sums[part.cause] += part.end - part.start;
    if (part.piece != nullptr) doings.add(*part.piece, part.start, part.end);
    if (part.piece == nullptr && part.cause == profile::Cause::launch && idle.next) doings.add(*idle.next, part.end - part.start);
  }
  for (const auto& [cause, time] : sums) idle.parts.push_back({cause, time});
  std::ranges::stable_sort(idle.parts, std::ranges::greater{}, &Idle::Part::time);
  idle.doing = doings.take();
  return idle;
}

}  // namespace

std::optional<Idle> idle_at(const Blocks& blocks, std::uint32_t track, Ns at) {
  const blocks::BlockTrack& of = blocks.tracks[track];
  if (of.kind != blocks::BlockTrack::Kind::host) return idle_device(blocks, of.device, at);
  return of.id == "main" ? idle_host(blocks, at) : std::nullopt;
}

}  // namespace hotlens::features
