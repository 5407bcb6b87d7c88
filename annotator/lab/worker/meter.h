// What the allocators hold, now and at most: every tensor's storage, in the bytes that were asked for.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace hotlens::lab {

// Counts from its construction on, in this thread and in those that autograd uses for its work, what one kind of device holds.
class Meter {
 public:
  Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  std::int64_t held() const { return info_->held; }
  std::int64_t peak() const { return info_->peak; }
  // What was made before it would be there in the step, or the other way round.
  void add(std::int64_t bytes) { info_->count(bytes); }
  void watch(c10::DeviceType device) { info_->watched = device; }
  void reset_peak() { info_->peak = info_->held.load(); }

  // From here on every allocation and release is kept, in order; a release is negative.
  void keep_events() { info_->keeps_events = true; }
  std::vector<std::int64_t> take_events();

 private:
  struct Info : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void* address, std::int64_t size, std::size_t allocated, std::size_t reserved, c10::Device device) override;
    bool memoryProfilingEnabled() const override { return true; }
    void count(std::int64_t bytes);

    std::atomic<std::int64_t> held = 0, peak = 0;
    c10::DeviceType watched = c10::DeviceType::CPU;
    bool keeps_events = false;
    std::vector<std::int64_t> events;
  };

  std::shared_ptr<Info> info_;
  c10::DebugInfoGuard installed_;
};

}  // namespace hotlens::lab
