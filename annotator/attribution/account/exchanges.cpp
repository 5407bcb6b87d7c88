#include "annotator/attribution/account/exchanges.h"

#include <algorithm>
#include <chrono>

namespace hotlens::attribution {
namespace {

// From the end of an exchange to the main thread's going on. On a busy machine a thread is woken late.
constexpr Ns kWakeUp = std::chrono::milliseconds(1);
constexpr int kWakeUpParts = 5;  // of the waiting, where that is longer

bool goes_on_after(const Piece& idle, const Interval& exchange) {
  const Ns waited = exchange.end - std::max(idle.start, exchange.start);
  return exchange.end <= idle.end && idle.end - exchange.end <= std::max(kWakeUp, waited / kWakeUpParts);
}

void add(std::vector<Piece>& wall, Piece piece, Ns start, Ns end, bool waiting) {
  if (end <= start) return;
  piece.start = start;
  piece.end = end;
  if (waiting) {
    piece.idle = false;
    piece.bucket = Bucket::communication;
    piece.owner.communicates = true;
  }
  wall.push_back(piece);
}

}  // namespace

std::vector<HostExchange> exchanges_beside(const trace::Trace& trace, const Forest& forest, const Steps& steps) {
  std::vector<HostExchange> found;
  if (steps.main == kNoNode) return found;
  const trace::ThreadId main = forest.threads[steps.main].id;
  const trace::Events& events = trace.events;
  for (const std::uint32_t event : trace.messages.event) {
    const trace::ThreadId thread = events.thread[event];
    const bool ours = trace.threads[thread.index].process_id == trace.threads[main.index].process_id;
    if (events.category[event] != trace::Category::annotation || thread == main || !ours) continue;
    found.push_back({events.start[event], events.end(event), event});
  }
  std::ranges::stable_sort(found, {}, &HostExchange::start);
  return found;
}

std::vector<Interval> host_exchanges(const trace::Trace& trace, const Forest& forest, const Steps& steps) {
  std::vector<Interval> found;
  for (const HostExchange& each : exchanges_beside(trace, forest, steps)) found.push_back({each.start, each.end});
  return merged(found);
}

std::vector<Piece> with_waiting(const std::vector<Piece>& wall, std::span<const Interval> exchanges) {
  std::vector<Piece> result;
  result.reserve(wall.size() + 2 * exchanges.size());
  for (const Piece& piece : wall) {
    Ns reached = piece.start;
    auto at = std::ranges::upper_bound(exchanges, piece.start, {}, &Interval::end);
    for (; piece.idle && at != exchanges.end() && at->start < piece.end; ++at) {
      if (piece.owner.stage != Stage::backward && !goes_on_after(piece, *at)) continue;
      const Ns start = std::max(at->start, piece.start), end = std::min(at->end, piece.end);
      add(result, piece, reached, start, false);
      add(result, piece, start, end, true);
      reached = end;
    }
    add(result, piece, reached, piece.end, false);
  }
  return result;
}

}  // namespace hotlens::attribution
