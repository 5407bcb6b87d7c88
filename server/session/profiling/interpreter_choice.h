// Which Python runs the scripts of a workspace folder: asked of the person, remembered in `.hotlens/state.json`, and profiled with.
//
// A run that ends because its Python cannot train says so with one button, which leads here. Where an entry of `runs.json` names the
// interpreter, the choice is written into that entry.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/runs/interpreters.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {

class InterpreterChoice {
 public:
  using Json = protocol::Json;

  InterpreterChoice(Loop& loop, Client& client, Profiling& profiling, std::function<void()> stored)
      : loop_(loop), client_(client), profiling_(profiling), stored_(std::move(stored)) {}
  InterpreterChoice(const InterpreterChoice&) = delete;
  InterpreterChoice& operator=(const InterpreterChoice&) = delete;

  void choose(const Json& argument, protocol::Reply reply);               // the command
  void unfit(const ProfileArguments& asked, const std::string& message);  // a run could not train with its Python

 private:
  using Held = std::shared_ptr<protocol::Reply>;
  struct Found {
    Target target;
    std::vector<runs::Interpreter> interpreters;
  };

  void find(const ProfileArguments& asked, const Held& reply, std::function<void(const Found&)> then);
  void ask(const ProfileArguments& asked, const Found& found);
  void keep(ProfileArguments asked, const Target& target, const std::string& python, const Held& reply);

  Loop& loop_;
  Client& client_;
  Profiling& profiling_;
  std::function<void()> stored_;  // the file has changed
};

}  // namespace hotlens::session
