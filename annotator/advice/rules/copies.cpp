#include "annotator/advice/rules/copies.h"

#include "annotator/common/format.h"

namespace hotlens::rules {
namespace {

using attribution::kNoNode;
using attribution::Work;

bool goes_to_device(const Recording& recording, const Work& work) {
  return recording.trace.events.category[work.event] == trace::Category::copy && recording.name(work).contains("HtoD");
}

// The outermost operator around the launch that does nothing but copy.
std::uint32_t copying(const Recording& recording, std::uint32_t launch) {
  std::uint32_t node = launch;
  for (std::uint32_t up = recording.forest.parent[node]; up != kNoNode; up = recording.forest.parent[up]) {
    const std::string_view name = recording.name(up);
    if (name != "aten::copy_" && name != "aten::_to_copy" && name != "aten::to") break;
    node = up;
  }
  return node;
}

}  // namespace

Copies copies_to_device(const Recording& recording, const std::function<bool(const Work&)>& is) {
  Copies copies;
  std::vector<bool> asked(recording.forest.size());
  bool any = false;
  for (const Work& work : recording.account.work) {
    if (work.launch != kNoNode && goes_to_device(recording, work) && is(work)) any = asked[copying(recording, work.launch)] = true;
  }
  if (!any) return copies;
  copies.launches = marked(recording, [&](std::uint32_t node) { return asked[node]; });
  for (const std::uint32_t i : recording.step().launched) {
    const Work& work = recording.account.work[i];
    if (!has(copies.launches, work) || !goes_to_device(recording, work)) continue;
    ++copies.count;
    copies.device += work.end - work.start;
    const auto row = trace::row_of(recording.trace.transfers.event, work.event);
    if (row) copies.bytes += recording.trace.transfers.bytes[*row];
  }
  for (const attribution::Piece& piece : recording.step().wall) {
    if (piece.bucket == attribution::Bucket::waiting && has(copies.launches, piece)) copies.waiting += piece.end - piece.start;
  }
  return copies;
}

std::vector<profile::Verdict::Evidence> evidence_of(const Copies& copies, std::string_view one, std::string_view several) {
  const std::string size = copies.bytes > 0 ? ", " + format::readable(Bytes{copies.bytes}) : std::string();
  std::vector<profile::Verdict::Evidence> evidence{{counted(copies.count, one, several) + size, copies.device, ""}};
  if (copies.waiting > Ns{}) evidence.push_back({"the host waits for them", copies.waiting, ""});
  return evidence;
}

}  // namespace hotlens::rules
