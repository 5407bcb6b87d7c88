// A verb of this program (`predict`, `whatif`) in a child process: one at a time, with progress and cancel. What it writes to standard
// output is its answer, its last line on standard error what it does, or why it failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/rpc.h"
#include "server/runs/run.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/progress_report.h"

namespace hotlens::session {

class ChildVerb {
 public:
  struct Command {
    std::vector<std::string> words;  // "whatif", "--format", "json", …
    std::filesystem::path bundle;    // that it is of: an environment is looked for where the run was
    std::string python;              // empty: as the program finds it
    std::string name, title;         // of its progress; the name tells it from others
  };
  struct Outcome {
    std::string answer;
    std::string why;  // where it came to nothing; never empty
    runs::RunEnd end;
    bool cancelled = false;
  };
  struct Events {
    std::function<int(const std::string& said)> said;   // percent of the work
    std::function<bool(const Outcome& outcome)> ended;  // whether it came to something
    std::function<void()> changed;                      // it began, or ended
  };

  ChildVerb(Loop& loop, Client& client) : loop_(loop), client_(client) {}
  ChildVerb(const ChildVerb&) = delete;
  ChildVerb& operator=(const ChildVerb&) = delete;

  void start(Command command, Events events);
  bool running() const { return active_.has_value(); }
  bool cancel();  // false: there was none
  void cancel_progress(const protocol::Json& params);
  void end();  // kills the child and waits for its end

 private:
  struct Active {
    std::int64_t id = 0;
    std::string verb;
    Events events;
    std::unique_ptr<ProgressReport> progress;
    std::string answer, said;
    std::optional<runs::Run> run;
    bool cancelled = false;
  };

  void on_output(Active& active, const runs::OutputLine& line);
  void on_end(Active& active, const runs::RunEnd& end);

  Loop& loop_;
  Client& client_;
  std::optional<Active> active_;
  std::int64_t last_ = 0;
};

}  // namespace hotlens::session
