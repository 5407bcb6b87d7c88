#include "annotator/common/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hotlens {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kAtOnce = std::size_t{1} << 16;

Error cannot_read(const fs::path& path, int reason) {
  const ErrorCode code = reason == ENOENT || reason == ENOTDIR ? ErrorCode::not_found : ErrorCode::unreadable;
  return {code, std::string("cannot read the file: ") + std::strerror(reason), path.string()};
}

// What a person reads as a size; this room has no formatter.
std::string megabytes(std::size_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

Error too_large(const fs::path& path, std::size_t most) {
  return {ErrorCode::unreadable, "the file is larger than " + megabytes(most) + " and was not read", path.string()};
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return false;
  const fs::path around = fs::canonical(folder, error);
  return !error && std::ranges::mismatch(around, real).in1 == around.end();
}

bool is_file_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(path, error) && is_inside(path, folder);
}

std::string stamp_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) return {};
  return std::to_string(size) + "@" + std::to_string(fs::last_write_time(file, error).time_since_epoch().count());
}

Result<std::string> read_file(const fs::path& path, std::size_t most) {
  // Without waiting: a pipe that nobody writes would hold us for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts{};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) return std::unexpected(cannot_read(path, errno));
  if (!S_ISREG(facts.st_mode)) {
    return std::unexpected(Error{ErrorCode::unreadable, "this is not a regular file and was not read", path.string()});
  }
  if (static_cast<std::size_t>(facts.st_size) > most) return std::unexpected(too_large(path, most));
  std::string text;
  // Files of the kernel say that they are empty, and others may grow meanwhile.
  for (std::size_t used = 0;;) {
    text.resize(used + std::max(kAtOnce, static_cast<std::size_t>(facts.st_size) + 1 - std::min<std::size_t>(used, facts.st_size)));
    const ssize_t got = ::read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(cannot_read(path, errno));
    used += static_cast<std::size_t>(got);
    if (used > most) return std::unexpected(too_large(path, most));
    if (got == 0) {
      text.resize(used);
      return text;
    }
  }
}

Result<std::string> read_file_inside(const fs::path& folder, const fs::path& path, std::size_t most) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::unexpected(cannot_read(path, error ? error.value() : ENOENT));
  if (is_inside(path, folder)) return read_file(path, most);
  return std::unexpected(Error{ErrorCode::unreadable, "this leads out of " + folder.string() + " and was not read", path.string()});
}

}  // namespace hotlens
