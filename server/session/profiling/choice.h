// Which of several run configurations a script runs with: asked of the person, remembered in `.hotlens/state.json`, and profiled with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {

class RunChoice {
 public:
  using Json = protocol::Json;

  RunChoice(Loop& loop, Client& client, Profiling& profiling, std::function<void()> chosen)
      : loop_(loop), client_(client), profiling_(profiling), chosen_(std::move(chosen)) {}
  RunChoice(const RunChoice&) = delete;
  RunChoice& operator=(const RunChoice&) = delete;

  void choose(const Json& argument, protocol::Reply reply);          // the command
  void decide(const ProfileArguments& asked, const Target& target);  // for a run that waits for it
  // `then` gets the request with the configuration that was chosen; nothing comes where nobody chooses.
  void ask(const ProfileArguments& asked, const Target& target, std::function<void(const ProfileArguments&)> then);

 private:
  using Held = std::shared_ptr<protocol::Reply>;

  void offer(const ProfileArguments& asked, const Target& target, const Held& reply);
  void remember(const Target& target, const runs::Configuration* choice, std::function<void()> then);

  Loop& loop_;
  Client& client_;
  Profiling& profiling_;
  std::function<void()> chosen_;  // the file has changed
};

}  // namespace hotlens::session
