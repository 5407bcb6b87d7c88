#include "annotator/causes/gap.h"

#include <algorithm>

namespace hotlens::causes {
namespace {

using attribution::kNoNode;
using attribution::Piece;
using attribution::Work;
using profile::Cause;

// Python needs 10 to 200 µs from one operator to the next; a millisecond without any operator runs something else.
constexpr Ns kLongestWayToLaunch = std::chrono::milliseconds(1);

bool is_way_to_launch(const Piece& piece) {
  return std::max(piece.end - piece.start, piece.pause) < kLongestWayToLaunch;
}

bool is_inside_operator(const attribution::Forest& forest, const Piece& piece) {
  if (piece.node == kNoNode) return false;
  const attribution::Kind kind = forest.kind[piece.node];
  return kind == attribution::Kind::op || kind == attribution::Kind::launch;
}

}  // namespace

Cause cause_beside_device(const attribution::Forest& forest, const Piece& piece) {
  switch (piece.bucket) {
    case attribution::Bucket::data_loading:
      return Cause::data;
    case attribution::Bucket::host_to_device:
      return Cause::copy;
    case attribution::Bucket::waiting:
      return Cause::sync;
    case attribution::Bucket::communication:
      return Cause::launch;
    case attribution::Bucket::host:
      return is_way_to_launch(piece) ? Cause::launch : Cause::host;
    default:
      return is_inside_operator(forest, piece) || is_way_to_launch(piece) ? Cause::launch : Cause::host;
  }
}

// Until the work that ends the gap was launched the host was late, doing what it did; then the launch itself took its time, which is long
// where it loads the kernel first. Work whose launch was done before the gap began, or long before its end, waits for something that the
// trace does not tell.
std::vector<GapPart> parts_of(const attribution::Forest& forest, const attribution::Account& account, const attribution::StepAccount& step,
                              const attribution::Gap& gap) {
  std::vector<GapPart> parts;
  const auto add = [&](Ns start, Ns end, Cause cause, const attribution::Owner& owner, const Piece* piece) {
    if (end > start) parts.push_back({start, end, cause, &owner, piece});
  };
  const Work* ended_by = gap.ended_by == kNoNode ? nullptr : &account.work[gap.ended_by];
  const Ns launched = ended_by ? std::clamp(ended_by->launched, gap.start, gap.end) : gap.end;
  auto piece = std::ranges::upper_bound(step.wall, gap.start, {}, &Piece::end);
  for (; piece != step.wall.end() && piece->start < launched; ++piece) {
    const Ns start = std::max(piece->start, gap.start), end = std::min(piece->end, launched);
    const Ns first = std::clamp(account.recorded.start, start, end), last = std::clamp(account.recorded.end, first, end);
    add(start, first, Cause::unrecorded, piece->owner, &*piece);
    add(first, last, cause_beside_device(forest, *piece), piece->owner, &*piece);
    add(last, end, Cause::unrecorded, piece->owner, &*piece);
  }
  if (launched == gap.end) return parts;
  Ns done = std::clamp(ended_by->queued, launched, gap.end);
  if (done > gap.start && gap.end - done <= attribution::kLaunchLatency) done = gap.end;
  add(launched, done, Cause::launch, ended_by->owner, nullptr);
  add(done, gap.end, Cause::queued, ended_by->owner, nullptr);
  return parts;
}

}  // namespace hotlens::causes
