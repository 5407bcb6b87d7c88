#include "annotator/blocks/block_lanes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace hotlens::blocks {
namespace {

using attribution::kNoNode;
using attribution::StepAccount;
using attribution::Work;

// By start.
std::vector<std::uint32_t> work_of(const attribution::Account& account, const StepAccount& step) {
  std::vector<std::uint32_t> all = step.launched;
  Ns last = step.span.end;
  for (const std::uint32_t at : all) last = std::max(last, account.work[at].end);
  const auto first = static_cast<std::uint32_t>(std::ranges::upper_bound(account.reached, step.span.start) - account.reached.begin());
  for (std::uint32_t at = first; at < account.work.size() && account.work[at].start < last; ++at) {
    const Work& work = account.work[at];
    // Work without a launch inside the recording tells nothing but when it ran.
    const bool earlier = work.launch == kNoNode ? work.start < step.span.end : work.launched < step.span.start;
    if (earlier && work.end > step.span.start) all.push_back(at);
  }
  std::ranges::sort(all);
  const auto same = std::ranges::unique(all);
  all.erase(same.begin(), same.end());
  return all;
}

}  // namespace

std::vector<Lane> lanes_of(const attribution::Account& account, const StepAccount& step) {
  std::map<std::uint32_t, std::vector<Lane>> streams;
  for (const std::uint32_t at : work_of(account, step)) {
    const Work& work = account.work[at];
    if (work.end <= work.start) continue;
    std::vector<Lane>& lanes = streams[work.stream.index];
    const bool communicates = work.owner.communicates;
    const auto same = [&](const Lane& candidate) { return candidate.communicates == communicates; };
    auto lane = std::ranges::find_if(lanes, [&](const Lane& candidate) { return same(candidate) && candidate.reached <= work.start; });
    if (lane == lanes.end()) {
      const auto number = static_cast<std::size_t>(std::ranges::count_if(lanes, same));
      lane = lanes.insert(lanes.end(), {.stream = work.stream.index, .communicates = communicates, .number = number});
    }
    lane->reached = work.end;
    lane->work.push_back(at);
  }
  std::vector<Lane> result;
  for (auto& [stream, lanes] : streams) {
    const bool mixed = std::ranges::any_of(lanes, [&](const Lane& lane) { return lane.communicates != lanes.front().communicates; });
    for (Lane& lane : lanes) lane.mixed = mixed;
    std::ranges::move(lanes, std::back_inserter(result));
  }
  return result;
}

BlockTrack device_track(const profile::Annotated& annotated, const Lane& lane) {
  const trace::Thread& stream = annotated.trace.threads[lane.stream];
  const std::string_view number = stream.id.starts_with("stream ") ? std::string_view(stream.id).substr(7) : stream.id;  // up to torch 1.9
  std::string name = "GPU " + stream.process.substr(0, 20) + " stream " + std::string(number.substr(0, 20));
  std::string id = "s" + std::to_string(lane.stream);
  if (lane.mixed && lane.communicates) {
    name += " communication";
    id += "c";
  }
  if (lane.number > 0) {
    name += " (" + std::to_string(lane.number + 1) + ")";
    id += "." + std::to_string(lane.number);
  }
  return {lane.communicates ? BlockTrack::Kind::communication : BlockTrack::Kind::device, std::move(id), std::move(name), stream.process};
}

}  // namespace hotlens::blocks
