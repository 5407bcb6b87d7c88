// A child process that works for one call: this program's own `predict` or `whatif`, or a run of the user's script.
//
// Everything it tells comes on the strand. It is stopped when it is late, and killed when this object goes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/runs/run.h"
#include "server/session/client/loop.h"

namespace hotlens::mcp {

class Child {
 public:
  struct End {
    runs::RunEnd run;
    std::string output;  // standard output
    std::string said;    // the last word on standard error
    bool late = false;
  };
  struct Events {
    std::function<void(const std::string& words, std::optional<int> percent)> progress;
    std::function<void(const End& end)> end;  // once; nothing comes after it
  };

  Child(session::Loop& loop, runs::RunRequest request, std::chrono::seconds limit, Events events);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
  session::Loop::Timer deadline_;
  runs::Run run_;  // last: its end is waited for first
};

}  // namespace hotlens::mcp
