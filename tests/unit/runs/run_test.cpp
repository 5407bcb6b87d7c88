#include "server/runs/run.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::runs;
using namespace std::chrono_literals;

namespace {

RunRequest shell(std::string script) {
  return {.argv = {"/bin/sh", "-c", std::move(script)}};
}

struct Collected {
  std::vector<OutputLine> lines;
  std::vector<Phase> phases;
  int ends = 0;

  Observer observer() {
    return {.progress = [this](const Progress& progress) { phases.push_back(progress.phase); },
            .output = [this](const OutputLine& line) { lines.push_back(line); },
            .end = [this](const RunEnd&) { ++ends; }};
  }
};

// The end of a background run, waited for with a limit.
class Ending {
 public:
  void set(const RunEnd& end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
    changed_.notify_all();
  }
  std::optional<RunEnd> wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return end_.has_value(); });
    return end_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<RunEnd> end_;
};

// Lines of a background run, waited for with a limit: a busy machine takes its time.
class Lines {
 public:
  void add(const OutputLine& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line.text);
    changed_.notify_all();
  }
  std::vector<std::string> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

bool alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  char state = 'Z';
  if (stat >> word >> word) stat >> state;
  return stat && state != 'Z';
}

bool gone_within(pid_t pid, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (alive(pid) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(5ms);
  return !alive(pid);
}

// Prints four numbers and waits: a child, one in a session of its own, one whose parent is gone, and itself.
const char* const kFamily =
    "sleep 100 & echo $!; setsid sh -c 'echo $$; exec sleep 100' & "
    "setsid sh -c 'sleep 100 & echo $!' & wait $!; echo $$; ";

// From now on these system calls fail here, and in what is started from here, as in a kernel that lacks them.
void refuse(std::initializer_list<long> calls) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(99);
  if (::syscall(SYS_pidfd_open, ::getpid(), 0) >= 0) ::_exit(98);
}

bool ended_within(pid_t pid, int& status, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < until) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return true;
    std::this_thread::sleep_for(10ms);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return false;
}

}  // namespace

TEST_CASE("output, progress and exit code arrive, the end exactly once and last") {
  Collected seen;
  const RunEnd end = run_blocking(shell(R"(echo out; echo err >&2; echo '{"phase":"start"}' >&3; echo noise >&3;
    echo '{"phase":"done","bundle":"/b"}' >&3; printf tail >&2; exit 7)"),
                                  seen.observer());
  CHECK(end.exit_code == 7);
  CHECK_FALSE(end.cancelled);
  CHECK(end.bundle == "/b");
  CHECK(seen.phases == std::vector{Phase::start, Phase::done});
  CHECK(seen.lines.size() == 3);
  CHECK(end.tail == std::vector<std::string>{"err", "tail"});
  CHECK(seen.ends == 1);
}

TEST_CASE("folder, environment, empty input and words arrive untouched") {
  Collected seen;
  RunRequest request = shell(R"(pwd; echo "$MARK"; echo "$1"; cat)");
  request.argv.insert(request.argv.end(), {"sh", "a 'b' $(c)"});
  request.cwd = "/usr";
  request.environment = {{"MARK", "é x"}};
  run_blocking(request, seen.observer());
  REQUIRE(seen.lines.size() == 3);
  CHECK(seen.lines[0].text == "/usr");
  CHECK(seen.lines[1].text == "é x");
  CHECK(seen.lines[2].text == "a 'b' $(c)");
}

TEST_CASE("what waits on our own input is not the child's") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "ours\n", 5) == 5);
  const int before = ::dup(0);
  ::dup2(ends[0], 0);
  Collected seen;
  run_blocking(shell("cat"), seen.observer());
  ::dup2(before, 0);
  for (const int fd : {before, ends[0], ends[1]}) ::close(fd);
  CHECK(seen.lines.empty());
}

TEST_CASE("a program that cannot be started is an error with its reason") {
  for (RunRequest request : {RunRequest{.argv = {"/no/such/program"}}, RunRequest{.argv = {"/etc/passwd"}},
                             RunRequest{.argv = {"/bin/true"}, .cwd = "/no/such/folder"}, RunRequest{}}) {
    Collected seen;
    const RunEnd end = run_blocking(request, seen.observer());
    REQUIRE(end.error);
    CHECK_FALSE(end.error->message.empty());
    CHECK(seen.ends == 1);
  }
}

TEST_CASE("only the streams and the progress pipe are open in the child") {
  Collected seen;
  const int leak = ::dup(2);  // without CLOEXEC
  run_blocking(shell("cd /proc/self/fd; for f in [0-9]*; do [ -e $f ] && echo $f; done"), seen.observer());
  ::close(leak);
  std::vector<std::string> open;
  for (const OutputLine& line : seen.lines) open.push_back(line.text);
  CHECK(open == std::vector<std::string>{"0", "1", "2", "3"});
}

TEST_CASE("cancel interrupts first, and the child may end in its own way") {
  Ending ending;
  Run run =
      start(shell("trap 'exit 5' INT; echo ready; while :; do sleep 0.02; done"), {.end = [&](const RunEnd& end) { ending.set(end); }});
  std::this_thread::sleep_for(200ms);
  run.cancel(5s);
  const auto end = ending.wait(3s);
  REQUIRE(end);
  CHECK(end->cancelled);
  CHECK(end->exit_code == 5);
}

TEST_CASE("a child that ignores the interrupt is killed after the grace time, with all it started") {
  Ending ending;
  std::mutex mutex;
  std::vector<pid_t> pids;
  Run run = start(shell("trap '' INT TERM; sleep 100 & echo $!; echo $$; while :; do sleep 1; done"),
                  {.output =
                       [&](const OutputLine& line) {
                         const std::lock_guard lock(mutex);
                         pids.push_back(std::stoi(line.text));
                       },
                   .end = [&](const RunEnd& end) { ending.set(end); }});
  std::this_thread::sleep_for(200ms);
  const auto asked = std::chrono::steady_clock::now();
  run.cancel(300ms);
  const auto end = ending.wait(2s);
  REQUIRE(end);
  CHECK(end->cancelled);
  CHECK(end->signal == SIGKILL);
  CHECK(std::chrono::steady_clock::now() - asked < 1s);
  const std::lock_guard lock(mutex);
  REQUIRE(pids.size() == 2);
  for (const pid_t pid : pids) CHECK(gone_within(pid, 1s));
}

TEST_CASE("what a child left running in its group ends with it") {
  Collected seen;
  const RunEnd end = run_blocking(shell("sleep 100 & echo $!; exit 0"), seen.observer());
  CHECK(end.exit_code == 0);
  REQUIRE(seen.lines.size() == 1);
  CHECK(gone_within(std::stoi(seen.lines[0].text), 1s));
}

TEST_CASE("destroying a run ends its child") {
  Ending ending;
  {
    const Run run = start(shell("trap '' INT; while :; do sleep 1; done"), {.end = [&](const RunEnd& end) { ending.set(end); }});
  }
  REQUIRE(ending.wait(0ms));
}

TEST_CASE("a flood of output neither blocks the child nor delays its cancellation") {
  Ending ending;
  std::atomic<std::size_t> lines = 0;
  Run run = start(shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"),
                  {.output = [&](const OutputLine&) { ++lines; }, .end = [&](const RunEnd& end) { ending.set(end); }});
  std::this_thread::sleep_for(300ms);
  run.cancel(200ms);
  REQUIRE(ending.wait(1s));
  CHECK(lines > 100);
}

TEST_CASE("the child dies when the program that supervises it is killed") {
  for (const bool own_group : {true, false}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
      RunRequest request = shell(R"(printf '{"phase":"start","step":%d}\n' $$ >&3; sleep 100)");
      request.own_group = own_group;
      run_blocking(request, {.progress = [&](const Progress& progress) {
                     const auto pid = static_cast<pid_t>(progress.step);
                     [[maybe_unused]] const auto written = ::write(ends[1], &pid, sizeof pid);
                   }});
      ::_exit(0);
    }
    pid_t child = 0;
    REQUIRE(::read(ends[0], &child, sizeof child) == sizeof child);
    REQUIRE(alive(child));
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    CHECK(gone_within(child, 5s));
  }
}

TEST_CASE("what a run has started ends with the program that supervises it, in whatever group and session") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    run_blocking(shell(std::string(kFamily) + "wait"), {.output = [&](const OutputLine& line) {
                   const pid_t pid = std::stoi(line.text);
                   [[maybe_unused]] const auto written = ::write(ends[1], &pid, sizeof pid);
                 }});
    ::_exit(0);
  }
  std::array<pid_t, 4> family{};
  for (pid_t& pid : family) REQUIRE(::read(ends[0], &pid, sizeof pid) == sizeof pid);
  for (const pid_t pid : family) CHECK(alive(pid));
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  for (const pid_t pid : family) CHECK(gone_within(pid, 5s));
}

TEST_CASE("a run that is killed takes along what has left its group, also while it is stopped") {
  for (const bool stopped : {false, true}) {
    Ending ending;
    Lines lines;
    Run run = start(shell("trap '' INT; " + std::string(kFamily) + "wait"),
                    {.output = [&](const OutputLine& line) { lines.add(line); }, .end = [&](const RunEnd& end) { ending.set(end); }});
    const std::vector<std::string> family = lines.wait(4);
    REQUIRE(family.size() == 4);
    if (stopped) ::kill(-::getpgid(std::stoi(family.front())), SIGSTOP);  // the first is in the run's group
    run.cancel(0ms);
    const auto end = ending.wait(20s);
    REQUIRE(end);
    CHECK(end->signal == SIGKILL);
    for (const std::string& pid : family) CHECK(gone_within(std::stoi(pid), 5s));
  }
}

TEST_CASE("a process that the run has lost ends without it") {
  const RunEnd end = run_blocking(shell("(sleep 0.1 &); sleep 0.5; exit 7"), {});
  CHECK(end.exit_code == 7);
}

TEST_CASE("two runs hold each other's processes not") {
  Ending first, second;
  std::optional<Run> one = start(shell("while :; do sleep 0.02; done"), {.end = [&](const RunEnd& end) { first.set(end); }});
  Run two = start(shell("while :; do sleep 0.02; done"), {.end = [&](const RunEnd& end) { second.set(end); }});
  two.cancel(0ms);
  CHECK(second.wait(20s));
  CHECK_FALSE(first.wait(0ms));
  one.reset();
  CHECK(first.wait(0ms));
}

TEST_CASE("a daemon outlives a run that ends by itself, as it would without us") {
  Collected seen;
  run_blocking(shell("setsid sh -c 'echo $$; exec sleep 100' & sleep 1"), seen.observer());
  REQUIRE(seen.lines.size() == 1);
  const pid_t daemon = std::stoi(seen.lines[0].text);
  CHECK(alive(daemon));
  ::kill(daemon, SIGKILL);
}

TEST_CASE("a run that a signal ended, or that ended its own group, says so") {
  for (const bool own_group : {true, false}) {
    RunRequest request = shell("kill -SEGV $$");
    request.own_group = own_group;
    CHECK(run_blocking(request, {}).signal == SIGSEGV);
  }
  CHECK(run_blocking(shell("kill -TERM 0; sleep 5"), {}).signal == SIGTERM);
  CHECK(run_blocking(shell("trap '' TERM INT HUP; for s in TERM INT HUP; do kill -$s 0; done; exit 7"), {}).exit_code == 7);
  CHECK(run_blocking(shell("kill -KILL 0"), {}).signal == SIGKILL);
}

TEST_CASE("a bundle that the child could not speak of is looked for, and what it says counts first") {
  std::string pattern = (std::filesystem::temp_directory_path() / "hotlens-left-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const std::filesystem::path made = folder / ".hotlens/profiles/20261123T080000Z-0a1b2c";
  std::filesystem::create_directories(made);
  std::ofstream(made / "manifest.json") << "{}";
  RunRequest request = shell("exec 3>&-; exit 0");
  request.argv.insert(request.argv.end(), {"sh", "--out", folder.string(), "--mark", "0a1b2c", "--"});
  CHECK(run_blocking(request, {}).bundle == made);
  request.argv[2] = R"(echo '{"phase":"done","bundle":"/told"}' >&3)";
  CHECK(run_blocking(request, {}).bundle == "/told");
  std::filesystem::remove_all(folder);
}

TEST_CASE("a kernel without pidfd_open and close_range runs the same") {
  const pid_t tester = ::fork();
  if (tester == 0) {
    refuse({SYS_pidfd_open, SYS_close_range});
    const int leak = ::dup(2);
    Collected seen;
    RunRequest listing = shell("cd /proc/self/fd; for f in [0-9]*; do [ -e $f ] && echo $f; done; exit 7");
    const bool listed = run_blocking(listing, seen.observer()).exit_code == 7 && seen.lines.size() == 4;
    ::close(leak);
    listing.own_group = false;
    const bool direct = run_blocking(listing, {}).exit_code == 7;
    Ending ending;
    Lines lines;
    Run run = start(shell("trap '' INT; echo ready; while :; do sleep 1; done"),
                    {.output = [&](const OutputLine& line) { lines.add(line); }, .end = [&](const RunEnd& end) { ending.set(end); }});
    lines.wait(1);
    run.cancel(100ms);
    const auto end = ending.wait(20s);
    ::_exit((listed ? 1 : 0) + (direct ? 2 : 0) + (end && end->signal == SIGKILL ? 4 : 0));
  }
  REQUIRE(tester > 0);
  int status = 0;
  REQUIRE(ended_within(tester, status, 60s));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a signal to the command line goes to the child, and a second one kills it") {
  for (const bool stubborn : {false, true}) {
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
      const std::string trap = stubborn ? "trap '' TERM; " : "trap 'exit 9' TERM; ";
      const RunEnd end = run_blocking({.argv = {"/bin/sh", "-c", trap + "while :; do sleep 0.02; done"}, .own_group = false}, {});
      ::_exit(!end.cancelled ? 1 : end.signal ? 50 + *end.signal : *end.exit_code);
    }
    std::this_thread::sleep_for(200ms);
    ::kill(supervisor, SIGTERM);
    std::this_thread::sleep_for(200ms);
    if (stubborn) ::kill(supervisor, SIGTERM);
    int status = 0;
    ::waitpid(supervisor, &status, 0);
    CHECK(WEXITSTATUS(status) == (stubborn ? 50 + SIGKILL : 9));
  }
}
