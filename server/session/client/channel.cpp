#include "server/session/client/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <type_traits>
#include <vector>

namespace hotlens::session {
namespace {

// Messages that the strand has not taken yet; typing produces a few, so more means a flood.
constexpr std::size_t kMaxWaiting = 256;
// Progress and log lines are dropped above the first; at the second the client does not read any more.
constexpr std::size_t kDropAbove = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kGiveUpAbove = std::size_t{256} * 1024 * 1024;

runs::Fd event() {
  return runs::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

// Waits until `fd` is ready; false when `stop` was signalled first.
bool wait_for(int fd, short what, const runs::Fd& stop) {
  while (true) {
    std::array<pollfd, 2> fds{pollfd{fd, what, 0}, pollfd{stop.get(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return false;
    if (fds[1].revents != 0) return false;
    if (fds[0].revents != 0) return true;
  }
}

}  // namespace

Connection standard_streams() {
  Connection streams{runs::Fd(::fcntl(0, F_DUPFD_CLOEXEC, 3)), runs::Fd(::fcntl(1, F_DUPFD_CLOEXEC, 3))};
  const runs::Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), 0);
  ::dup2(2, 1);
  return streams;
}

Input::Input(int fd, Events events, Framing framing) : fd_(fd), events_(std::move(events)), framing_(framing), stop_(event()) {
  thread_ = std::jthread([this] { read(); });
}

Input::~Input() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  space_.notify_all();
  ::eventfd_write(stop_.get(), 1);
}

std::optional<Incoming> Input::take() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  Incoming next = std::move(waiting_.front());
  waiting_.pop_front();
  space_.notify_one();
  return next;
}

bool Input::deliver(protocol::Message message) {
  std::unique_lock lock(mutex_);
  if (const auto* note = std::get_if<protocol::Notification>(&message); note != nullptr && note->method == "$/cancelRequest") {
    const auto id = note->params.is_object() ? note->params.find("id") : note->params.end();
    const auto same = [&](const Incoming& one) {
      const auto* request = std::get_if<protocol::Request>(&one.message);
      return request != nullptr && request->id == *id;
    };
    if (note->params.is_object() && id != note->params.end()) {
      const auto found = std::ranges::find_if(waiting_.rbegin(), waiting_.rend(), same);  // a re-used id means the last
      if (found != waiting_.rend()) found->cancelled = true;
    }
  }
  space_.wait(lock, [&] { return waiting_.size() < kMaxWaiting || stopping_; });
  if (stopping_) return false;
  waiting_.push_back({std::move(message)});
  lock.unlock();
  events_.arrived();
  return true;
}

void Input::read() {
  if (framing_ == Framing::headers) return read(protocol::FrameReader());
  read(protocol::LineReader());
}

template <class Frames>
void Input::read(Frames frames) {
  constexpr bool kRecovers = std::is_same_v<Frames, protocol::LineReader>;
  std::vector<char> buffer(64 * 1024);
  while (wait_for(fd_, POLLIN, stop_)) {
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      const bool cut = frames.mid_message();
      events_.ended(cut ? End::broken : End::closed, cut ? "the input ended inside a message" : "the input ended");
      return;
    }
    frames.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (auto body = frames.next()) {
      if (!*body && kRecovers) {
        const std::string why(describe(body->error()));
        if (!deliver(protocol::Rejected{nullptr, {protocol::Code::parse_error, why}})) return;
        continue;
      }
      if (!*body) {
        events_.ended(End::broken, "the input is not a message: " + std::string(describe(body->error())));
        return;
      }
      if (!deliver(protocol::decode(**body))) return;
    }
  }
}

Output::Output(int fd, std::function<void()> broken, Framing framing)
    : fd_(fd), broken_(std::move(broken)), framing_(framing), stop_(event()) {
  thread_ = std::jthread([this] { write(); });
}

Output::~Output() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  ::eventfd_write(stop_.get(), 1);
}

void Output::send(const std::string& body, Weight weight) {
  std::string bytes = framing_ == Framing::headers ? protocol::frame(body) : protocol::line(body);
  const std::scoped_lock lock(mutex_);
  if (failed_ || (weight == Weight::droppable && queued_bytes_ > kDropAbove)) return;
  queued_bytes_ += bytes.size();
  queue_.push_back(std::move(bytes));
  changed_.notify_all();
}

void Output::flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return failed_ || (queue_.empty() && !writing_); });
}

void Output::write() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::string bytes = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    const bool hopeless = queued_bytes_ > kGiveUpAbove;
    lock.unlock();
    const bool written = !hopeless && write_all(bytes);
    lock.lock();
    writing_ = false;
    queued_bytes_ -= bytes.size();
    if (!written) {
      failed_ = true;
      queue_.clear();
      const bool ours = stopping_;
      changed_.notify_all();
      lock.unlock();
      if (!ours) broken_();
      return;
    }
    changed_.notify_all();
  }
}

// Never blocks in the system call itself, so that the program can leave a client that does not read: a socket is asked not to wait, a pipe
// that polls writable has room for PIPE_BUF bytes.
bool Output::write_all(std::string_view bytes) {
  bool is_socket = true;
  while (!bytes.empty()) {
    if (!wait_for(fd_, POLLOUT, stop_)) return false;
    ssize_t sent = -1;
    if (is_socket) {
      sent = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == ENOTSOCK) is_socket = false;
    }
    if (!is_socket) sent = ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace hotlens::session
