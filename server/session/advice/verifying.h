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
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/profiling/child_verb.h"

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
      : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)), child_(loop, client) {}
  Verifying(const Verifying&) = delete;
  Verifying& operator=(const Verifying&) = delete;

  // One that takes long is asked about first.
  void verify(const Json& argument, protocol::Reply reply);
  void cancel_progress(const Json& params) { child_.cancel_progress(params); }
  bool cancel() { return child_.cancel(); }  // false: there was none
  void end() { child_.end(); }

  bool running() const { return child_.running(); }

 private:
  std::string why_not() const;
  Json refused(const std::string& why);
  void ask(const advice::Suggestion& of, const std::string& python);
  void start(const advice::Suggestion& of, const std::string& python);
  bool ended(const lab::WhatIf& change, const ChildVerb::Outcome& outcome);
  void tell(const lab::WhatIf& change, const std::string& text);

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  ChildVerb child_;
};

}  // namespace hotlens::session
