// A text of any length through a small moving window, so that it is never in memory as a whole.
//
// While one window is looked at, another thread reads (and inflates) the next. What was not consumed moves in front of the next window. A
// window grows only when what the caller needs to see at once is larger than it is.
//
// It is also where a text ends that is too much for this machine: a few megabytes of gzip may hold any amount of it, and what is made of
// the text grows with it. All of the process's memory is looked at every few megabytes.
#pragma once

#include <cstddef>
#include <future>
#include <optional>
#include <semaphore>
#include <string_view>
#include <thread>

#include "annotator/common/memory.h"
#include "annotator/trace/bytes.h"
#include "annotator/trace/source.h"

namespace hotlens::trace {

class Windows {
 public:
  // Measured on 56 MB: 0.25 to 4 MB are equally fast to parse, 16 MB takes a fifth longer and all at once twice as long, for the text is no
  // longer in the cache then. The least of them touches the fewest pages that a fresh process has to be given.
  static constexpr std::size_t kUsual = std::size_t{1} << 18;

  // `source` must outlive this.
  explicit Windows(Source& source, std::size_t size = kUsual, MemoryBudget budget = {});
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;
  ~Windows();

  // What is in memory and not consumed. May be written to, one byte before its front included, and read PaddedBytes::kPadding beyond.
  char* data() { return buffer_.data() + begin_; }
  std::string_view rest() { return {data(), end_ - begin_}; }
  std::size_t capacity() const { return buffer_.size() - begin_ + PaddedBytes::kPadding; }
  void consume(std::size_t size) { begin_ += size; }

  // Appends the next part of the text to rest(), which moves. False at the end of the text or at an error.
  bool more();

  std::size_t consumed() const { return total_ - (end_ - begin_); }  // bytes, from the start of the text
  std::size_t total() const { return total_; }                       // bytes in memory so far and before
  const std::optional<Error>& error() const { return error_; }
  bool exhausted() const { return exhausted_; }  // the error is that memory ran out

 private:
  struct Read {
    PaddedBytes buffer;
    std::size_t asked = 0;
    Result<std::size_t> got;
  };
  Read read(PaddedBytes buffer, std::size_t size);
  void prefetch(std::size_t size);
  void run_tasks();
  bool fits();

  Source& source_;
  std::size_t usual_;
  PaddedBytes buffer_, spare_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t total_ = 0;
  MemoryBudget budget_;
  std::size_t counted_ = 0;  // of the text, when memory was looked at last
  bool ended_ = false, exhausted_ = false;
  std::optional<Error> error_;
  std::future<Read> next_;
  std::packaged_task<Read()> task_;  // for the other thread; one that holds nothing ends it
  std::binary_semaphore given_{0};   // there is a task
  std::thread reader_;               // started with the first task
};

}  // namespace hotlens::trace
