#include "server/runs/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "server/runs/descriptors.h"
#include "server/runs/keeper.h"

extern char** environ;

namespace hotlens::runs {
namespace {

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::unexpected(Error{ErrorCode::failed, "Cannot open a pipe: " + std::system_category().message(errno) + ".", {}});
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

void set_nonblocking(const Fd& fd) {
  if (fd) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> merged_environment(const RunRequest& request) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(request.environment, [&](const auto& added) { return added.first == name; })) merged.emplace_back(text);
  }
  for (const auto& [name, value] : request.environment) merged.push_back(name + "=" + value);
  return merged;
}

// What the child does between fork and exec: only async-signal-safe calls, all memory prepared by the parent.
struct ChildPlan {
  char* const* argv;
  char* const* environment;
  const char* cwd;  // null: stay
  int in, out, error, progress, report;
  pid_t parent;
};

[[noreturn]] void give_up(int report) {
  const int reason = errno;
  [[maybe_unused]] const auto written = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

// Moves a descriptor out of the way of the numbers that the child's streams get.
int above_streams(int fd) {
  return fd < 0 ? fd : ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
}

[[noreturn]] void become(const ChildPlan& plan) {
  const int report = above_streams(plan.report), progress = above_streams(plan.progress);
  const int in = above_streams(plan.in), out = above_streams(plan.out), error = above_streams(plan.error);
  if (report < 0) ::_exit(127);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above

  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGQUIT}) ::signal(signal, SIG_DFL);

  if (in >= 0 && ::dup2(in, 0) < 0) give_up(report);
  if (out >= 0 && ::dup2(out, 1) < 0) give_up(report);
  if (error >= 0 && ::dup2(error, 2) < 0) give_up(report);
  if (::dup2(progress, kProgressFd) < 0) give_up(report);
  close_from_at_exec(kProgressFd + 1);
  if (plan.cwd != nullptr && ::chdir(plan.cwd) != 0) give_up(report);
  ::execve(plan.argv[0], plan.argv, plan.environment);
  give_up(report);
}

// The keeper of a run with a group of its own, which it leads. A signal to the group that comes early finds it deaf already.
[[noreturn]] void become_keeper(ChildPlan plan, int leash) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  plan.parent = ::getpid();
  const pid_t first = ::fork();
  if (first == 0) become(plan);
  if (first < 0) give_up(plan.report);
  keep(first, leash);
}

// Blocks until exec (the pipe closes) or until the child says why not.
int failure_before_exec(Pipe& report) {
  report.write.close();
  int reason = 0;
  ssize_t got = 0;
  do got = ::read(report.read.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  return got == sizeof reason ? reason : 0;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Child> spawn(const RunRequest& request) {
  if (request.argv.empty()) return std::unexpected(Error{ErrorCode::usage, "There is no command to run.", {}});
  const bool capture = request.streams != Streams::inherited, spoken = request.streams == Streams::spoken;
  auto report = make_pipe(), progress = make_pipe(), in = make_pipe(), out = make_pipe(), error = make_pipe(), leash = make_pipe();
  for (const auto* pipe : {&report, &progress, &in, &out, &error, &leash}) {
    if (!*pipe) return std::unexpected(pipe->error());
  }
  const Fd empty_input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<std::string> words = request.argv, variables = merged_environment(request);
  const std::vector<char*> argv = pointers(words), environment = pointers(variables);
  const ChildPlan plan{.argv = argv.data(),
                       .environment = environment.data(),
                       .cwd = request.cwd.empty() ? nullptr : request.cwd.c_str(),
                       .in = spoken    ? in->read.get()
                             : capture ? empty_input.get()
                                       : -1,
                       .out = capture ? out->write.get() : -1,
                       .error = capture ? error->write.get() : -1,
                       .progress = progress->write.get(),
                       .report = report->write.get(),
                       .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) {
    return std::unexpected(Error{ErrorCode::failed, "Cannot start a process: " + std::system_category().message(errno) + ".", {}});
  }
  if (pid == 0 && request.own_group) become_keeper(plan, leash->read.get());
  if (pid == 0) become(plan);
  if (request.own_group) ::setpgid(pid, pid);  // in both processes: whoever comes first

  if (const int reason = failure_before_exec(*report); reason != 0) {
    ::waitpid(pid, nullptr, 0);
    const std::string folder = request.cwd.empty() ? "" : " in " + request.cwd.string();
    return std::unexpected(Error{ErrorCode::failed,
                                 "Cannot run " + request.argv[0] + folder + ": " + std::system_category().message(reason) + ".",
                                 request.argv[0]});
  }
  Child child{.pid = pid,
              .exited = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
              .leash = {},
              .progress = std::move(progress->read),
              .out = {},
              .error = {},
              .in = {}};
  if (request.own_group) child.leash = std::move(leash->write);
  if (capture) {
    child.out = std::move(out->read);
    child.error = std::move(error->read);
  }
  if (spoken) child.in = std::move(in->write);
  for (const Fd* fd : {&child.progress, &child.out, &child.error, &child.in}) set_nonblocking(*fd);
  return child;
}

}  // namespace hotlens::runs
