#include "annotator/causes/work_order.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <utility>

namespace hotlens::causes {

using attribution::kLaunchLatency;
using attribution::kNoNode;
using attribution::Work;

WorkOrder::WorkOrder(std::span<const Work> work, std::uint32_t first) : work_(work), first_(first) {
  std::unordered_map<std::uint32_t, std::uint32_t> on_stream;
  before_.assign(work_.size() - first_, kNoNode);
  const auto wanted = std::views::iota(first_, static_cast<std::uint32_t>(work_.size()));
  by_end_.assign(wanted.begin(), wanted.end());
  for (const std::uint32_t i : by_end_) {
    const auto [stream, fresh] = on_stream.try_emplace(work_[i].stream.index, i);
    if (!fresh) before_[i - first_] = std::exchange(stream->second, i);
  }
  std::erase_if(by_end_, [&](std::uint32_t i) { return work_[i].end <= work_[i].start; });  // work that takes no time is waited for by none
  std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t i) { return work_[i].end; });
}

std::uint32_t WorkOrder::ending_within(Ns after, Ns until) const {
  const auto next = std::ranges::upper_bound(by_end_, until, {}, [&](std::uint32_t i) { return work_[i].end; });
  return next != by_end_.begin() && work_[*(next - 1)].end > after ? *(next - 1) : kNoNode;
}

WorkOrder::Needs WorkOrder::needs(std::uint32_t at, Ns otherwise) const {
  const Work& work = work_[at];
  const bool known = work.launch != kNoNode;
  Needs needs{.before = before(at), .launch_known = known, .launched = known ? std::min(work.launched, work.start) : otherwise};
  needs.free = needs.before == kNoNode ? Ns::min() : work_[needs.before].end;
  const Ns ready = std::max(needs.free, needs.launched);
  if (!known || work.start - ready > kLaunchLatency) needs.other = ending_within(ready, work.start);
  return needs;
}

}  // namespace hotlens::causes
