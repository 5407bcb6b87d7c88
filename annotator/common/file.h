// Reading files that somebody else has named: the one door for paths out of bundles, traces and settings.
//
// A name may lead anywhere: to a device that never ends, to a pipe that nobody writes, through a link out of its folder. Only regular files
// are read, no more of them than was asked for, and opening never waits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "annotator/common/error.h"

namespace hotlens {

// A file open for reading; negative where it could not be opened, with errno set.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Whether `path`, its links followed, is `folder` or below it; false where it does not exist.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

// The same for a regular file: what is no pipe that is waited for, no device without an end, and nobody else's.
bool is_file_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

// The whole of a regular file of at most `most` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t most);

// The same for a file that has to lie in `folder`, whatever links lead to it.
Result<std::string> read_file_inside(const std::filesystem::path& folder, const std::filesystem::path& path, std::size_t most);

// Another one where the file is another, as far as its folder entry tells; empty where there is none.
std::string stamp_of(const std::filesystem::path& file);

// Larger sources are generated ones, in which nobody looks for a line.
constexpr std::size_t kMostSource = std::size_t{8} << 20;

}  // namespace hotlens
