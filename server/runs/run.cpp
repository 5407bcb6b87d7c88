#include "server/runs/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <thread>

#include "server/runs/lines.h"
#include "server/runs/mark.h"
#include "server/runs/spawn.h"

namespace hotlens::runs {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kTailLines = 20;
// A descendant that left the group may hold a pipe open for ever: what has arrived this long after the exit is all there is.
constexpr milliseconds kDrainTime{200};
constexpr milliseconds kLongestWait{60'000};
constexpr milliseconds kLookEvery{20};  // for the end of a child that no descriptor tells of

// Wakes the supervisor from another thread.
class Wakeup {
 public:
  Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return fd_.get(); }
  void wake() const { [[maybe_unused]] const int failed = ::eventfd_write(fd_.get(), 1); }
  void clear() const {
    eventfd_t ignored = 0;
    [[maybe_unused]] const int failed = ::eventfd_read(fd_.get(), &ignored);
  }

 private:
  Fd fd_;
};

// The time at which the child is killed; set once it is asked to stop.
class CancelRequest {
 public:
  void ask(milliseconds grace) {
    const auto deadline = (Clock::now() + grace).time_since_epoch().count();
    auto current = deadline_.load();
    while (deadline < current && !deadline_.compare_exchange_weak(current, deadline)) {
    }
    wakeup.wake();
  }
  std::optional<Clock::time_point> deadline() const {
    const auto at = deadline_.load();
    if (at == kNever) return std::nullopt;
    return Clock::time_point(Clock::duration(at));
  }

  Wakeup wakeup;

 private:
  static constexpr Clock::rep kNever = std::numeric_limits<Clock::rep>::max();
  std::atomic<Clock::rep> deadline_ = kNever;
};

// While it lives, SIGINT, SIGTERM and SIGHUP come as bytes instead of ending this program.
class TerminalSignals {
 public:
  TerminalSignals() {
    ::sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&watched_, signal);
    ::pthread_sigmask(SIG_BLOCK, &watched_, &before_);
    fd_ = Fd(::signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;
  ~TerminalSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }
  std::optional<signalfd_siginfo> next() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return info;
  }

 private:
  sigset_t watched_{}, before_{};
  Fd fd_;
};

class Supervisor {
 public:
  Supervisor(const RunRequest& request, const Observer& observer, CancelRequest& cancel, const TerminalSignals* signals)
      : request_(request), observer_(observer), cancel_(cancel), signals_(signals) {}

  RunEnd run() {
    auto child = spawn(request_);
    if (!child) {
      end_.error = child.error();
    } else {
      child_ = std::move(*child);
      watch();
      reap();
      drain();
      if (!end_.bundle) end_.bundle = bundle_left(request_.argv);
      end_.tail.assign(tail_.begin(), tail_.end());
    }
    if (observer_.end) observer_.end(end_);
    return end_;
  }

 private:
  void watch() {
    for (bool running = true; running;) {
      std::array<pollfd, 6> fds{pollfd{child_.exited.get(), POLLIN, 0}, pollfd{child_.progress.get(), POLLIN, 0},
                                pollfd{child_.out.get(), POLLIN, 0},    pollfd{child_.error.get(), POLLIN, 0},
                                pollfd{cancel_.wakeup.fd(), POLLIN, 0}, pollfd{signals_ != nullptr ? signals_->fd() : -1, POLLIN, 0}};
      ::poll(fds.data(), fds.size(), time_left());
      if (fds[4].revents != 0) cancel_.wakeup.clear();
      if (fds[5].revents != 0) forward_signals();
      apply_cancel();
      if (fds[1].revents != 0) read_progress();
      if (fds[2].revents != 0) read_output(child_.out, out_lines_, false);
      if (fds[3].revents != 0) read_output(child_.error, error_lines_, true);
      running = child_.exited ? fds[0].revents == 0 : !has_ended();
    }
  }

  int time_left() const {
    const auto longest = child_.exited ? kLongestWait : kLookEvery;
    const auto deadline = cancel_.deadline();
    if (!deadline || killed_) return child_.exited ? -1 : static_cast<int>(kLookEvery.count());
    const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp(left, milliseconds(0), longest).count());
  }

  // It stays to be reaped.
  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  }

  void apply_cancel() {
    const auto deadline = cancel_.deadline();
    if (!deadline) return;
    end_.cancelled = true;
    if (!interrupted_) {
      interrupted_ = true;
      send(SIGINT);
    }
    if (!killed_ && Clock::now() >= *deadline) {
      killed_ = true;
      send(SIGKILL);
    }
  }

  // The terminal has told the child already when both are in one group; any other sender meant only us.
  void forward_signals() {
    while (const auto info = signals_->next()) {
      const int signal = static_cast<int>(info->ssi_signo);
      const bool reached_child = !request_.own_group && info->ssi_code == SI_KERNEL;
      if (end_.cancelled) {
        send(SIGKILL);
      } else if (!reached_child) {
        send(signal);
      }
      end_.cancelled = true;
    }
  }

  void send(int signal) {
    if (signal == SIGKILL && child_.leash) {
      ::kill(-child_.pid, SIGCONT);  // a keeper that was stopped with its group
      child_.leash.close();
    } else {
      ::kill(request_.own_group ? -child_.pid : child_.pid, signal);
    }
  }

  void read_progress() {
    read_all(child_.progress,
             [&](std::string_view bytes) { progress_lines_.feed(bytes, [&](std::string_view line) { on_progress(line); }); });
  }

  void on_progress(std::string_view line) {
    const auto progress = parse_progress(line);
    if (!progress) return;
    if (progress->bundle) end_.bundle = progress->bundle;
    if (progress->failure) end_.failure = progress->failure;
    if (observer_.progress) observer_.progress(*progress);
  }

  void read_output(Fd& fd, LineSplitter& lines, bool is_error) {
    read_all(fd, [&](std::string_view bytes) {
      if (observer_.written) observer_.written(bytes, is_error);
      lines.feed(bytes, [&](std::string_view line) { on_line(line, is_error); });
    });
  }

  void on_line(std::string_view line, bool is_error) {
    if (is_error) {
      tail_.emplace_back(line);
      if (tail_.size() > kTailLines) tail_.pop_front();
    }
    if (observer_.output) observer_.output({is_error, std::string(line)});
  }

  // One bounded turn: a child that prints gigabytes must not keep cancellation waiting. Closes at the end of the stream.
  template <class Feed>
  bool read_all(Fd& fd, const Feed& feed) {
    std::array<char, 64 * 1024> buffer;
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got > 0) {
      feed(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      fd.close();
    }
    return got > 0;
  }

  // Kills the rest of the group while its number still belongs to the unreaped child, then reaps.
  void reap() {
    if (request_.own_group) ::kill(-child_.pid, SIGKILL);
    int status = 0;
    while (::waitpid(child_.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
      end_.signal = WTERMSIG(status);
    } else {
      end_.exit_code = WEXITSTATUS(status);
    }
  }

  void drain() {
    const auto until = Clock::now() + kDrainTime;
    while ((child_.progress || child_.out || child_.error) && Clock::now() < until) {
      std::array<pollfd, 3> fds{pollfd{child_.progress.get(), POLLIN, 0}, pollfd{child_.out.get(), POLLIN, 0},
                                pollfd{child_.error.get(), POLLIN, 0}};
      const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
      if (::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) break;
      if (fds[0].revents != 0) read_progress();
      if (fds[1].revents != 0) read_output(child_.out, out_lines_, false);
      if (fds[2].revents != 0) read_output(child_.error, error_lines_, true);
    }
    progress_lines_.finish([&](std::string_view line) { on_progress(line); });
    out_lines_.finish([&](std::string_view line) { on_line(line, false); });
    error_lines_.finish([&](std::string_view line) { on_line(line, true); });
  }

  const RunRequest& request_;
  const Observer& observer_;
  CancelRequest& cancel_;
  const TerminalSignals* signals_;
  Child child_;
  LineSplitter progress_lines_, out_lines_, error_lines_;
  std::deque<std::string> tail_;
  bool interrupted_ = false, killed_ = false;
  RunEnd end_;
};

}  // namespace

std::string how_ended(const RunEnd& end) {
  const std::string how =
      end.signal ? "was ended by signal " + std::to_string(*end.signal) : "ended with code " + std::to_string(end.exit_code.value_or(0));
  return "the script " + how + (end.tail.empty() ? "" : ": " + end.tail.back());
}

RunEnd run_blocking(const RunRequest& request, const Observer& observer) {
  const TerminalSignals signals;
  CancelRequest cancel;
  return Supervisor(request, observer, cancel, &signals).run();
}

struct Run::State {
  State(RunRequest wanted, Observer watcher) : request(std::move(wanted)), observer(std::move(watcher)) {
    thread = std::jthread([this] { Supervisor(request, observer, cancel, nullptr).run(); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { cancel.ask(milliseconds(0)); }

  RunRequest request;
  Observer observer;
  CancelRequest cancel;
  std::jthread thread;  // last: joined first
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

void Run::cancel(milliseconds grace) {
  state_->cancel.ask(grace);
}

Run start(RunRequest request, Observer observer) {
  return Run(std::make_unique<Run::State>(std::move(request), std::move(observer)));
}

}  // namespace hotlens::runs
