// One child process from start to end: its streams, its progress, its cancellation, its exit.
//
// A run belongs to the thread that supervises it: the caller's for run_blocking(), one of its own for start(). The child dies with that
// thread, so with the program, however it ends, and is always reaped. With `own_group` so does all it has started when it is killed
// (keeper.h), and its group when it ends by itself. Arguments are an array and never pass a shell.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/common/error.h"
#include "server/runs/progress.h"

namespace hotlens::runs {

enum class Streams : std::uint8_t {
  inherited,  // the command line: the child's output is the user's own terminal
  lines,      // the server: stdin is empty, stdout and stderr come as lines
  spoken,     // a worker: as lines, and stdin is a pipe (conversation.h)
};

struct RunRequest {
  std::vector<std::string> argv;                                 // argv[0] is the program: a path, no search
  std::filesystem::path cwd;                                     // empty: ours
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  Streams streams = Streams::lines;
  bool own_group = true;  // false for a terminal: Ctrl-C and Ctrl-Z reach the child as they would without us
};

struct OutputLine {
  bool is_error = false;  // stderr
  std::string text;
};

struct RunEnd {
  std::optional<Error> error;    // it could not be started; nothing else is set then
  std::optional<int> exit_code;  // absent when a signal ended it
  std::optional<int> signal;
  bool cancelled = false;  // by cancel() or by a signal to us
  std::optional<std::filesystem::path> bundle;
  std::optional<Failure> failure;
  std::vector<std::string> tail;  // the last lines of stderr (Streams::lines)
};

// "the script ended with code 2: the last line of its stderr".
std::string how_ended(const RunEnd& end);

// Called on the supervising thread.
struct Observer {
  std::function<void(const Progress&)> progress;
  std::function<void(const OutputLine&)> output;
  std::function<void(std::string_view bytes, bool is_error)> written;  // the same, as it came
  std::function<void(const RunEnd&)> end;                              // exactly once, last
};

// Runs to the end in this thread. SIGINT, SIGTERM and SIGHUP to us go to the child (a second one kills it) and make it `cancelled`.
RunEnd run_blocking(const RunRequest& request, const Observer& observer);

// A run in the background. Destroying it kills the child and waits for its end.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  // SIGINT now, SIGKILL after `grace`. Any thread, any number of times; later calls can only shorten the time that is left.
  void cancel(std::chrono::milliseconds grace);

 private:
  struct State;
  explicit Run(std::unique_ptr<State> state);
  friend Run start(RunRequest request, Observer observer);
  std::unique_ptr<State> state_;
};

// Never fails here: a child that cannot be started is a RunEnd with `error`.
Run start(RunRequest request, Observer observer);

}  // namespace hotlens::runs
