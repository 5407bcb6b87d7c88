// What would help, on request: this program's own `whatif` in a child process, one at a time, with progress and cancel.
//
// No user code runs but where several models are tried as one, which says so. A worker is compiled and operators of the profile run: only
// after the explicit command, only where the workspace is trusted, and never beside other work of ours, which would disturb its times. What
// it finds is kept in the ledger, from where it becomes hints with Apply and Verify (advising.h).
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "annotator/advice/sweep/sweep.h"
#include "annotator/profile/profile.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/profiling/child_verb.h"

namespace hotlens::session {

class WhatHelps {
 public:
  using Json = protocol::Json;
  struct Events {
    // The profile of an open document; of no document (empty) what the workspace shows. May be null.
    std::function<std::shared_ptr<const profile::Profile>(const std::string& uri)> shown;
    std::function<std::string()> busy;                                             // with what would disturb it; "" where nothing is
    std::function<const sweep::Seen*(const std::filesystem::path& bundle)> sweep;  // null where none was seen
    std::function<void()> changed;                                                 // it began or ended
  };

  WhatHelps(Loop& loop, Client& client, Workspace& workspace, Events events)
      : client_(client), workspace_(workspace), events_(std::move(events)), child_(loop, client) {}
  WhatHelps(const WhatHelps&) = delete;
  WhatHelps& operator=(const WhatHelps&) = delete;

  void ask(const Json& argument, protocol::Reply reply);
  // Which blocks to checkpoint: every choice is replayed, and the curve is kept beside the profile.
  void plan(const profile::Profile& profile, protocol::Reply reply);
  // Several models of the script as one: runs the script until its second update.
  void try_sweep(const Json& argument, protocol::Reply reply);
  // Adds "What would help here?" where the document is part of a recorded step, and "Try these runs as one" where a sweep was seen.
  void add_actions(const Json& params, Json& list) const;
  void cancel_progress(const Json& params) { child_.cancel_progress(params); }
  bool cancel() { return child_.cancel(); }  // false: there was none
  void end() { child_.end(); }

  bool running() const { return child_.running(); }
  bool plans() const { return running() && question_ == Question::plan; }

 private:
  enum class Question : std::uint8_t { helps, plan, sweep };

  Json refused(const std::string& why);
  // Of the document that an argument names; the error is said already.
  std::expected<std::shared_ptr<const profile::Profile>, Json> asked_of(const std::string& uri, const std::string& untrusted);
  void start(const std::filesystem::path& bundle, Question question);
  bool ended(const ChildVerb::Outcome& outcome);

  Client& client_;
  Workspace& workspace_;
  Events events_;
  ChildVerb child_;
  Question question_ = Question::helps;  // that is answered, or was last
  std::string profile_;                  // its id
};

// What the person is told of the answer of `whatif --format json` (annotator/report/FORMATS.md).
std::string told(const std::string& answer);
// The same of blocks to checkpoint.
std::string told_of_plan(const std::string& answer);
// The same of several models as one; `profile`: its id.
std::string told_of_sweep(const std::string& answer, const std::string& profile);
// "Try these 3 runs as one"
std::string sweep_title(const sweep::Seen& seen);

}  // namespace hotlens::session
