#include "annotator/trace/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "annotator/trace/inflate.h"

namespace hotlens::trace {
namespace {

constexpr std::size_t kMagic = 2;        // bytes that tell gzip
constexpr std::size_t kUsualRatio = 20;  // of gzipped traces, 10 to 30

Error unreadable(std::string_view where, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::unreadable;
  return {code, std::string("cannot read the file: ") + std::strerror(error), std::string(where)};
}

}  // namespace

Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

Source::Source(Raw raw, std::size_t size, std::string where) : raw_(std::move(raw)), where_(std::move(where)), expected_(size) {}

Result<Source> Source::open(const std::filesystem::path& path) {
  // A pipe is read as well: somebody named it here and now, and writes it. Bundles name regular files only (profile/bundle.h).
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return std::unexpected(unreadable(path.string(), errno));
  if (S_ISDIR(facts.st_mode)) {
    return std::unexpected(
        Error{ErrorCode::unreadable, "this is a folder, not a trace file; give a .json or .json.gz file", path.string()});
  }
  if (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode)) {
    return std::unexpected(
        Error{ErrorCode::unreadable, "this is a device, not a trace file; give a .json or .json.gz file", path.string()});
  }
  Source source(std::move(file), static_cast<std::size_t>(facts.st_size), path.string());
  if (const Result<void> told = source.detect(static_cast<std::size_t>(facts.st_size)); !told) return std::unexpected(told.error());
  return source;
}

Result<Source> Source::of(std::string_view bytes, std::string_view where) {
  Source source(bytes, bytes.size(), std::string(where));
  if (const Result<void> told = source.detect(bytes.size()); !told) return std::unexpected(told.error());
  return source;
}

Result<void> Source::detect(std::size_t size) {
  std::string magic(kMagic, '\0');
  const Result<std::size_t> got = read_raw(magic);
  if (!got) return std::unexpected(got.error());
  front_ = magic.substr(0, *got);
  if (!is_gzip(front_)) return {};
  inflater_ = std::make_unique<Inflater>();
  expected_ = size * kUsualRatio;
  return {};
}

bool Source::damaged() const {
  return inflater_ && inflater_->damaged();
}

Result<std::size_t> Source::read(std::span<char> into) {
  if (!inflater_) return read_raw(into);
  return inflater_->fill(into, [this](std::span<char> more) { return read_raw(more); });
}

Result<std::size_t> Source::read_raw(std::span<char> into) {
  std::size_t used = front_.copy(into.data(), into.size(), front_used_);
  front_used_ += used;
  if (auto* memory = std::get_if<std::string_view>(&raw_)) {
    const std::size_t copied = memory->copy(into.data() + used, into.size() - used);
    memory->remove_prefix(copied);
    return used + copied;
  }
  const int file = std::get<Descriptor>(raw_).get();
  while (used < into.size()) {
    const ssize_t got = ::read(file, into.data() + used, into.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(unreadable(where_, errno));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  return used;
}

}  // namespace hotlens::trace
