#include "server/features/timeline/idle.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "annotator/attribution/account/exchanges.h"
#include "annotator/attribution/structure/functions.h"
#include "annotator/causes/gap.h"

namespace hotlens::features {
namespace {

using attribution::Functions;
using attribution::kNoNode;
using attribution::kNothing;
using attribution::Piece;
using attribution::Work;
using blocks::Blocks;
using causes::GapPart;

constexpr std::string_view kOutside = "Python or other code outside operators";

bool exchanges(const Piece& piece) {
  return piece.bucket == attribution::Bucket::communication;
}

// A gap between what a host track runs, as the main thread's pieces tell it.
std::optional<attribution::Interval> host_gap(const std::vector<Piece>& pieces, Ns at) {
  auto piece = std::ranges::upper_bound(pieces, at, {}, &Piece::end);
  if (piece == pieces.end() || piece->start > at || piece->node != kNoNode) return std::nullopt;
  // Waiting for other processes is a stretch of its own.
  const auto alike = [&](const Piece& other) { return other.node == kNoNode && exchanges(other) == exchanges(*piece); };
  auto first = piece, last = piece;
  while (first != pieces.begin() && alike(*std::prev(first)) && std::prev(first)->end == first->start) --first;
  while (std::next(last) != pieces.end() && alike(*std::next(last)) && std::next(last)->start == last->end) ++last;
  return attribution::Interval{first->start, last->end};
}

// The functions of the main thread in a window, where the trace has them.
attribution::Functions main_functions(const profile::Annotated& annotated, Ns from, Ns to) {
  const std::uint32_t main = annotated.steps.main;
  if (main == kNoNode) return {.calls = {}, .runs = {{.start = from, .end = to}}};
  return attribution::functions_of(annotated.trace, annotated.forest.threads[main].id, from, to);
}

// What the main thread did, added up by what it was.
class Doings {
 public:
  Doings(const Blocks& blocks, Ns from, Ns to)
      : annotated_(*blocks.annotated),
        functions_(main_functions(annotated_, from, to)),
        exchanges_(attribution::exchanges_beside(annotated_.trace, annotated_.forest, annotated_.steps)) {}

  void add(const Piece& piece, Ns start, Ns end) {
    if (piece.node == kNoNode && exchanges(piece)) return add_exchanges(start, end);
    const std::vector<Functions::Run>& runs = functions_.runs;
    for (auto run = std::ranges::upper_bound(runs, start, {}, &Functions::Run::end); run != runs.end() && run->start < end; ++run) {
      add(piece, function(run->call), std::min(end, run->end) - std::max(start, run->start));
    }
  }

  // The main thread is in no code of its own while it waits for other processes.
  void add_exchanges(Ns start, Ns end) {
    for (const attribution::HostExchange& each : exchanges_) {
      const Ns from = std::max(each.start, start), to = std::min(each.end, end);
      if (from >= to) continue;
      const std::string_view name = annotated_.trace.names[annotated_.trace.events.name[each.event]];
      add_time("waiting for the other ranks in " + std::string(name), false, std::nullopt, to - from);
      start = to;  // exchanges that run at once count once
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
    add_time(std::move(what), waits, line, time);
  }

  void add_time(std::string what, bool waits, std::optional<std::uint32_t> line, Ns time) {
    const auto [at, fresh] = known_.try_emplace({what, waits, line}, all_.size());
    if (fresh) all_.push_back({.what = std::move(what), .waits = waits, .line = line, .time = {}});
    all_[at->second].time += time;
  }

  std::string_view name(std::uint32_t node) const {
    return annotated_.trace.names[annotated_.trace.events.name[annotated_.forest.event[node]]];
  }

  std::string_view function(std::uint32_t call) const {
    return call == kNoNode ? std::string_view() : annotated_.trace.names[functions_.calls[call].function];
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
  Functions functions_;
  std::vector<attribution::HostExchange> exchanges_;
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

std::optional<Idle::Next> next_of(const Blocks& blocks, std::uint32_t work) {
  if (work == kNoNode) return std::nullopt;
  const profile::Annotated& annotated = *blocks.annotated;
  const Work& item = annotated.account.work[work];
  Idle::Next next{.block = blocks.index.block_of_work(work)};
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
  Idle idle{.start = gap->start - blocks.start, .end = gap->end - blocks.start, .parts = {}, .doing = {}, .next = {}};
  for (auto piece = std::ranges::upper_bound(wall, gap->start, {}, &Piece::end); piece != wall.end() && piece->start < gap->end; ++piece) {
    doings.add(*piece, std::max(piece->start, gap->start), std::min(piece->end, gap->end));
    if (exchanges(*piece)) idle.parts = {{profile::Cause::communication, gap->end - gap->start}};
  }
  idle.doing = doings.take();
  return idle;
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
