#include "server/cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "annotator/common/harmless.h"

namespace hotlens::cli {
namespace {

constexpr std::size_t kAtOnce = std::size_t{1} << 16;

std::string wrapped(std::string_view text, std::string_view code, bool colour) {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace

bool use_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

std::string dim(std::string_view text, bool colour) {
  return wrapped(text, "2", colour);
}

std::string bold(std::string_view text, bool colour) {
  return wrapped(text, "1", colour);
}

Sink::Sink(std::ostream& stream, int fd, Printed as) : stream_(stream), before_(stream.rdbuf()), fd_(fd), as_(as), styled_(use_colour(fd)) {
  stream_.rdbuf(this);
}

Sink::~Sink() {
  write(waiting_.size());
  stream_.rdbuf(before_);
}

Result<void> Sink::finish() {
  write(waiting_.size());
  if (failed_ == 0 || failed_ == EPIPE) return {};
  return std::unexpected(
      Error{ErrorCode::unreadable, std::string("the output cannot be written: ") + std::strerror(failed_) + "; it is not complete", {}});
}

Sink::int_type Sink::overflow(int_type next) {
  if (traits_type::eq_int_type(next, traits_type::eof())) return traits_type::not_eof(next);
  const char c = traits_type::to_char_type(next);
  return xsputn(&c, 1) == 1 ? next : traits_type::eof();
}

std::streamsize Sink::xsputn(const char* text, std::streamsize size) {
  waiting_.append(text, static_cast<std::size_t>(size));
  // Whole lines: no character is ever in two pieces.
  if (waiting_.size() >= kAtOnce) {
    const std::size_t line = waiting_.rfind('\n');
    write(line == std::string::npos ? 0 : line + 1);
  }
  return failed_ == 0 ? size : 0;
}

int Sink::sync() {
  write(waiting_.size());
  return failed_ == 0 ? 0 : -1;
}

void Sink::write(std::size_t size) {
  const std::string_view front = std::string_view(waiting_).substr(0, size);
  const std::string clean = as_ == Printed::json ? harmless_json(front) : harmless_lines(front, styled_);
  for (std::string_view rest = clean; !rest.empty() && failed_ == 0;) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      failed_ = errno;
    }
  }
  waiting_.erase(0, size);
}

int fail(const Error& error) {
  std::cerr << "hotlens: " << harmless(error.message);
  if (!error.where.empty() && !error.message.contains(error.where)) std::cerr << " (" << harmless(error.where) << ")";
  std::cerr << '\n';
  switch (error.code) {
    case ErrorCode::usage:
      return kWrongUsage;
    case ErrorCode::failed:
      return kScriptFailed;
    default:
      return kInputUnusable;
  }
}

}  // namespace hotlens::cli
