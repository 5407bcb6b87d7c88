#include "annotator/trace/windows.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hotlens::trace {
namespace {

constexpr std::size_t kFront = 64 * 1024;  // bytes: room for what moves over from the window before; an event takes about 400
// Text between two looks at the memory, which take a few microseconds each.
constexpr std::size_t kCountEvery = std::size_t{4} << 20;

}  // namespace

Windows::Windows(Source& source, std::size_t size, MemoryBudget budget) : source_(source), usual_(size), budget_(budget) {}

Windows::~Windows() {
  if (!reader_.joinable()) return;
  if (next_.valid()) next_.wait();
  task_ = {};
  given_.release();
  reader_.join();
}

Windows::Read Windows::read(PaddedBytes buffer, std::size_t size) {
  if (buffer.size() < kFront + size) buffer = PaddedBytes(kFront + size);
  Result<std::size_t> got = source_.read({buffer.data() + kFront, size});
  return {std::move(buffer), size, std::move(got)};
}

void Windows::prefetch(std::size_t size) {
  task_ = std::packaged_task<Read()>([this, size, buffer = std::move(spare_)]() mutable { return read(std::move(buffer), size); });
  next_ = task_.get_future();
  given_.release();
  if (!reader_.joinable()) reader_ = std::thread([this] { run_tasks(); });
}

// On the other thread. The task is moved out first: as soon as it has its result, the next may be given.
void Windows::run_tasks() {
  for (;;) {
    given_.acquire();
    std::packaged_task<Read()> task = std::move(task_);
    if (!task.valid()) return;
    task();
  }
}

bool Windows::fits() {
  if (total_ - counted_ < kCountEvery) return true;
  counted_ = total_;
  exhausted_ = budget_.exceeded();
  return !exhausted_;
}

bool Windows::more() {
  if (ended_) return false;
  if (!fits()) {
    ended_ = true;
    error_ = out_of_memory({});
    return false;
  }
  const bool first = total_ == 0 && !next_.valid();
  Read next = first ? read(std::move(spare_), usual_) : next_.get();
  if (!next.got || *next.got == 0) {
    ended_ = true;
    if (!next.got) error_ = next.got.error();
    return false;
  }
  const std::size_t kept = end_ - begin_;
  const bool large = kept >= kFront;  // one byte stays free before it
  if (large) {
    PaddedBytes larger(kFront + kept + *next.got);
    std::memcpy(larger.data() + kFront, data(), kept);
    std::memcpy(larger.data() + kFront + kept, next.buffer.data() + kFront, *next.got);
    spare_ = std::move(next.buffer);
    buffer_ = std::move(larger);
    begin_ = kFront;
  } else {
    if (kept > 0) std::memcpy(next.buffer.data() + kFront - kept, data(), kept);
    spare_ = std::exchange(buffer_, std::move(next.buffer));
    begin_ = kFront - kept;
  }
  end_ = begin_ + kept + *next.got;
  total_ += *next.got;
  if (*next.got < next.asked) {
    ended_ = true;
  } else {
    prefetch(large ? std::max(usual_, end_ - begin_) : usual_);  // a need for more than one window doubles it
  }
  return true;
}

}  // namespace hotlens::trace
