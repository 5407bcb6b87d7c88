// A change verified on request: this program's own `whatif KIND --verify` in a child process, one at a time, with progress and cancel.
//
// It runs the user's script before and after the change: only after the explicit command, only where the workspace is trusted, and never
// beside other work of ours, which would disturb its times. No file of the user's is written; the outcome is kept in the ledger.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "annotator/advice/suggestion.h"
#include "protocol/rpc.h"
#include "server/runs/run.h"
#include "server/session/client.h"
#include "server/session/loop.h"
#include "server/session/progress_report.h"
#include "server/session/workspace.h"

namespace hotlens::session {

class Verifying {
 public:
  using Json = protocol::Json;
  struct Events {
    // The hint that is shown of this profile and kind.
    std::function<std::optional<advice::Suggestion>(const std::string& profile, const std::string& kind)> find;
    std::function<std::string()> busy;  // with what else that would disturb it; "" where nothing is
    std::function<void()> changed;      // one began or ended
  };

  Verifying(Loop& loop, Client& client, Workspace& workspace, Events events)
      : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)) {}
  Verifying(const Verifying&) = delete;
  Verifying& operator=(const Verifying&) = delete;

  // One that takes long is asked about first.
  void verify(const Json& argument, protocol::Reply reply);
  void cancel_progress(const Json& params);
  bool cancel();  // false: there was none
  void end();     // kills the child and waits for its end

  bool running() const { return active_.has_value(); }

 private:
  struct Active {
    std::int64_t id = 0;
    std::string title;  // of the change
    std::unique_ptr<ProgressReport> progress;
    std::string answer, said;  // the child's standard output, and its last word on standard error
    std::optional<runs::Run> run;
    bool cancelled = false;
  };

  std::string why_not() const;
  Json refused(const std::string& why);
  void ask(const advice::Suggestion& of, const std::string& python);
  void start(const advice::Suggestion& of, const std::string& python);
  void on_output(Active& active, const runs::OutputLine& line);
  void on_end(Active& active, const runs::RunEnd& end);
  void tell(const Active& active);

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  std::optional<Active> active_;
  std::int64_t last_ = 0;
};

}  // namespace hotlens::session
