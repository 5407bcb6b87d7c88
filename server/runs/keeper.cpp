#include "server/runs/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "server/runs/descriptors.h"

namespace hotlens::runs {
namespace {

constexpr int kSignalBase = 128;  // a shell reports a command that signal N has ended as 128 + N

// The status of `first`, once it has ended; whatever else has ended is reaped too.
class Reaper {
 public:
  explicit Reaper(pid_t first) : first_(first) {}

  // False where there is no child (left), or none that has ended, with WNOHANG.
  bool reap(int options) {
    int status = 0;
    pid_t pid = 0;
    do pid = ::waitpid(-1, &status, options);
    while (pid < 0 && errno == EINTR);
    if (pid == first_) {
      ended_ = true;
      status_ = status;
    }
    return pid > 0;
  }
  bool ended() const { return ended_; }
  int status() const { return status_; }  // once it has ended

 private:
  pid_t first_;
  bool ended_ = false;
  int status_ = 0;
};

// What the kernel lists as our children, decimal numbers and spaces. False where there is none, or no list.
bool kill_children() {
  const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  bool any = false;
  pid_t pid = 0;
  std::array<char, 512> text;
  for (ssize_t got = 0; (got = ::read(list, text.data(), text.size())) > 0;) {
    for (ssize_t at = 0; at < got; ++at) {
      const char c = text[static_cast<std::size_t>(at)];
      if (c >= '0' && c <= '9') {
        pid = pid * 10 + (c - '0');
      } else if (pid > 0) {
        any = ::kill(std::exchange(pid, 0), SIGKILL) == 0 || any;
      }
    }
  }
  ::close(list);
  return any;
}

// The children of one that was killed become ours: again, until there are none.
void end_all(Reaper& reaper) {
  while (kill_children()) {
    if (!reaper.reap(0)) return;
    while (reaper.reap(WNOHANG)) {
    }
  }
  if (!reaper.ended()) ::kill(0, SIGKILL);  // no list of children here: at least the group
}

[[noreturn]] void end_as(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);  // one core file is enough
  ::signal(signal, SIG_DFL);
  ::kill(::getpid(), signal);
  ::_exit(kSignalBase + signal);
}

void on_child(int) {}

// Those to the group are for the run. SIGCHLD is blocked but while we wait, so that none is missed; returns the mask to wait with.
sigset_t set_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGTSTP}) ::signal(signal, SIG_IGN);
  struct sigaction wake{};
  wake.sa_handler = on_child;
  ::sigaction(SIGCHLD, &wake, nullptr);
  sigset_t blocked, waiting;
  ::sigemptyset(&waiting);
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  return waiting;
}

}  // namespace

void keep(pid_t first, int leash) {
  close_all_but(leash);
  const sigset_t waiting = set_signals();
  Reaper reaper(first);
  while (!reaper.ended()) {
    if (reaper.reap(WNOHANG)) continue;
    pollfd held{leash, POLLIN, 0};
    if (::ppoll(&held, 1, nullptr, &waiting) > 0) end_all(reaper);
  }
  end_as(reaper.status());
}

}  // namespace hotlens::runs
