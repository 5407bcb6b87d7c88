#include "annotator/lab/worker/meter.h"

#include <utility>

namespace hotlens::lab {

Meter::Meter() : info_(std::make_shared<Info>()), installed_(c10::DebugInfoKind::PROFILER_STATE, info_) {}

std::vector<std::int64_t> Meter::take_events() {
  info_->keeps_events = false;
  return std::exchange(info_->events, {});
}

void Meter::Info::reportMemoryUsage(void* /*address*/, std::int64_t size, std::size_t /*allocated*/, std::size_t /*reserved*/,
                                    c10::Device device) {
  if (device.type() == watched) count(size);
}

void Meter::Info::count(std::int64_t bytes) {
  const std::int64_t now = held += bytes;
  if (now > peak) peak = now;
  if (keeps_events) events.push_back(bytes);
}

}  // namespace hotlens::lab
