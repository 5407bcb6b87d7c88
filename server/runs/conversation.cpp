#include "server/runs/conversation.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hotlens::runs {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostWords = std::size_t{4} << 10;  // of standard error, the last ones
constexpr milliseconds kLastWords{300};                   // for a child that is asked to end to say what it was doing

// What has arrived; nullopt at the end of the stream.
std::optional<std::string> read_some(const Fd& fd) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got > 0) return std::string(buffer.data(), static_cast<std::size_t>(got));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
  return std::nullopt;
}

// The last line that says something.
std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Result<Conversation> Conversation::start(const RunRequest& request) {
  RunRequest spoken = request;
  spoken.streams = Streams::spoken;
  auto child = spawn(spoken);
  if (!child) return std::unexpected(child.error());
  return Conversation(std::move(*child));
}

Conversation::Conversation(Conversation&& other) noexcept
    : child_(std::exchange(other.child_, {})), answer_(std::move(other.answer_)), words_(std::move(other.words_)) {}

Conversation& Conversation::operator=(Conversation&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(answer_, other.answer_);
  std::swap(words_, other.words_);
  return *this;
}

Conversation::~Conversation() {
  end();
}

int Conversation::end() {
  if (!alive()) return 0;
  child_.in.close();
  child_.leash.close();
  int status = 0;
  while (::waitpid(child_.pid, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = {};
  return status;
}

bool Conversation::wait(Time until, bool writes) {
  std::array<pollfd, 3> fds{pollfd{child_.out.get(), POLLIN, 0}, pollfd{child_.error.get(), POLLIN, 0},
                            pollfd{writes ? child_.in.get() : -1, POLLOUT, 0}};
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  if (left <= 0) return false;
  return ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 60'000))) != 0 || steady_clock::now() < until;
}

void Conversation::write_some(std::string_view& rest) {
  const ssize_t put = ::write(child_.in.get(), rest.data(), rest.size());
  if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  if (put < 0 && errno != EAGAIN && errno != EINTR) rest = {};  // it reads no more: how it ended is told below
}

bool Conversation::read_answer() {
  const auto read = read_some(child_.out);
  if (read) answer_ += *read;
  return read.has_value();
}

void Conversation::read_words() {
  const auto read = read_some(child_.error);
  if (!read) child_.error.close();
  words_ += read.value_or("");
  if (words_.size() > kMostWords) words_.erase(0, words_.size() - kMostWords);
}

Result<std::string> Conversation::ask(std::string_view line, milliseconds within) {
  if (!alive()) return std::unexpected(Error{ErrorCode::failed, "The worker has ended.", {}});
  const Time until = steady_clock::now() + within;
  const std::string whole = std::string(line) + '\n';
  std::string_view rest = whole;
  for (bool open = true; open;) {
    if (const std::size_t end = answer_.find('\n'); rest.empty() && end != std::string::npos) {
      std::string answer = answer_.substr(0, end);
      answer_.erase(0, end + 1);
      return answer;
    }
    if (answer_.size() > kMostAnswerBytes) break;
    if (!wait(until, !rest.empty())) return std::unexpected(late());
    if (!rest.empty()) write_some(rest);
    if (child_.error) read_words();
    open = read_answer();
  }
  return std::unexpected(ended());
}

Error Conversation::late() {
  ::kill(-child_.pid, SIGTERM);
  const Time until = steady_clock::now() + kLastWords;
  while (child_.error && wait(until, false)) {
    read_words();
    if (!read_answer()) break;
  }
  if (child_.error) read_words();
  end();
  const std::string_view last = last_line(words_);
  return {ErrorCode::cancelled, fmt::format("It took too long and was stopped{}.", last.empty() ? "" : fmt::format(" ({})", last)), {}};
}

Error Conversation::ended() {
  if (child_.error) read_words();
  const int status = end();
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                                              : fmt::format("ended with code {}", WEXITSTATUS(status));
  const std::string_view last = last_line(words_);
  return {ErrorCode::failed, fmt::format("The worker {}{}.", how, last.empty() ? "" : fmt::format(": {}", last)), {}};
}

}  // namespace hotlens::runs
