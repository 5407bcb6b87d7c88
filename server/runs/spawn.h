// fork and exec, with everything the child needs prepared before.
#pragma once

#include <sys/types.h>

#include <utility>

#include "annotator/common/error.h"
#include "server/runs/run.h"

namespace hotlens::runs {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() { *this = Fd(); }

 private:
  int fd_ = -1;
};

struct Child {
  pid_t pid = -1;           // of the child, or of its keeper, which leads its group and ends as it does
  Fd exited;                // readable when it ended (pidfd); closed where the kernel has none (before Linux 5.3)
  Fd leash;                 // only with a keeper: closing it kills the child and everything it has started
  Fd progress, out, error;  // non-blocking; out and error not with Streams::inherited
  Fd in;                    // non-blocking; only with Streams::spoken
};

// The child dies when the calling thread ends.
Result<Child> spawn(const RunRequest& request);

}  // namespace hotlens::runs
