// One piece of work as the client's progress display shows it: created, begun, reported at most ten times a second, ended exactly once.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/session/client/client.h"
#include "server/session/client/loop.h"

namespace hotlens::session {

// From "cancel" to SIGKILL: the client is promised an end within a second.
constexpr std::chrono::milliseconds kCancelGrace{700};

class ProgressReport {
 public:
  // Asks the client for a token and begins when it agrees; silent when it cannot or does not.
  ProgressReport(Client& client, Loop& loop, std::string token, std::string title);
  ProgressReport(const ProgressReport&) = delete;
  ProgressReport& operator=(const ProgressReport&) = delete;
  ~ProgressReport();  // ends, if nobody did

  void report(std::string message, int percent);  // the percentage never falls
  void end(std::string message);

  // Whether a message about progress (`window/workDoneProgress/cancel`) means this one.
  bool is_named_by(const protocol::Json& params) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the answer to `create`, which may come after the end
};

}  // namespace hotlens::session
