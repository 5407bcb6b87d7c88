#include "server/runs/run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
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
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    run_blocking(shell("echo $$; sleep 100"), {.output = [&](const OutputLine& line) {
                   const pid_t pid = std::stoi(line.text);
                   [[maybe_unused]] const auto written = ::write(ends[1], &pid, sizeof pid);
                 }});
    ::_exit(0);
  }
  pid_t child = 0;
  REQUIRE(::read(ends[0], &child, sizeof child) == sizeof child);
  REQUIRE(alive(child));
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  CHECK(gone_within(child, 1s));
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
