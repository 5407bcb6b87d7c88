#include "annotator/trace/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace hotlens::trace {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::size_t whole_pages(std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

Error unreadable(const std::filesystem::path& path, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::unreadable;
  return {code, std::string("cannot read the file: ") + std::strerror(error), path.string()};
}

constexpr std::size_t kFirstRead = 1 << 16;  // for pipes and the like, whose size is not known

// Fills `bytes` from `used` on, to its end or the file's; returns how much it holds then.
Result<std::size_t> read_into(int fd, PaddedBytes& bytes, std::size_t used, const std::filesystem::path& path) {
  while (used < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(unreadable(path, errno));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  return used;
}

}  // namespace

PaddedBytes& PaddedBytes::operator=(PaddedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

PaddedBytes::~PaddedBytes() {
  if (data_) munmap(data_, mapped_);
}

PaddedBytes PaddedBytes::zeroed(std::size_t size) {
  constexpr std::size_t kWorthHugePages = std::size_t{8} << 20;  // faults of small pages cost more than parsing
  PaddedBytes bytes;
  const std::size_t length = whole_pages(size + kPadding);
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (length >= kWorthHugePages) madvise(memory, length, MADV_HUGEPAGE);  // advice only: no matter if it fails
  bytes.data_ = static_cast<char*>(memory);
  bytes.size_ = size;
  bytes.mapped_ = length;
  return bytes;
}

PaddedBytes PaddedBytes::copy_of(std::string_view text) {
  PaddedBytes bytes = zeroed(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

Result<PaddedBytes> file_bytes(const std::filesystem::path& path) {
  const Descriptor file(path);
  struct stat facts{};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return std::unexpected(unreadable(path, errno));
  if (S_ISDIR(facts.st_mode)) {
    return std::unexpected(
        Error{ErrorCode::unreadable, "this is a folder, not a trace file; give a .json or .json.gz file", path.string()});
  }
  // One byte more than the file has: a buffer that is full means that there is more, as in a pipe.
  PaddedBytes bytes = PaddedBytes::zeroed(std::max(kFirstRead, static_cast<std::size_t>(facts.st_size) + 1));
  std::size_t used = 0;
  for (;;) {
    const Result<std::size_t> got = read_into(file.get(), bytes, used, path);
    if (!got) return std::unexpected(got.error());
    used = *got;
    if (used < bytes.size()) break;
    PaddedBytes larger = PaddedBytes::zeroed(used * 2);
    std::memcpy(larger.data(), bytes.data(), used);
    bytes = std::move(larger);
  }
  bytes.shrink(used);
  return bytes;
}

}  // namespace hotlens::trace
