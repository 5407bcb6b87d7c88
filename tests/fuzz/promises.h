// What every report promises, whatever the file: held by the fuzzer and by the test of broken files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "annotator/profile/profile.h"

namespace hotlens::fuzz {

// A file that is only memory, under a name that can be opened.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("trace", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  bool put(std::string_view bytes) const {
    return ftruncate(fd_, 0) == 0 && pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// The promise that a profile breaks; nothing where it keeps them all.
inline std::optional<std::string> broken_promise(const profile::Profile& profile) {
  for (std::size_t step = 0; step < profile.steps.size(); ++step) {
    Ns wall{};
    Ns device{};
    for (const profile::BucketTimes& bucket : profile.buckets) {
      if (bucket.wall[step] < Ns{} || bucket.device[step] < Ns{}) return "a bucket is negative";
      wall += bucket.wall[step];
      device += bucket.device[step];
    }
    if (wall != profile.steps[step].wall) return "the buckets of a step do not add up to it";
    if (device != profile.steps[step].device) return "the buckets of a step's device time do not add up to it";
    if (device > profile.steps[step].wall) return "a device is busy for longer than the step";
  }
  return std::nullopt;
}

}  // namespace hotlens::fuzz
