// The arguments of a script, kept for its next runs: asked of the person, written to `.hotlens/runs.json`, and profiled with.
//
// A script that ends because it does not like its arguments is told with the way to set them. Where a client can ask for a line, it does;
// elsewhere the file opens. Only a line that can be split is kept.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/profiling/choice.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {

class RunArguments {
 public:
  using Json = protocol::Json;

  RunArguments(Loop& loop, Client& client, Profiling& profiling, RunChoice& choice, std::function<void()> stored)
      : loop_(loop), client_(client), profiling_(profiling), choice_(choice), stored_(std::move(stored)) {}
  RunArguments(const RunArguments&) = delete;
  RunArguments& operator=(const RunArguments&) = delete;

  void set(const Json& argument, protocol::Reply reply);  // the command
  void refused(const ProfileArguments& asked, const std::string& message);

 private:
  using Held = std::shared_ptr<protocol::Reply>;

  using Found = std::function<void(const Target&, const Held& reply)>;

  void find(ProfileArguments asked, Found found, Held reply);
  void prompt(const ProfileArguments& asked, const Target& target, const std::string& value, const std::string& wrong);
  void open_file(const Target& target, Held reply);
  void run(ProfileArguments asked, const Target& target, const std::string& line, Held reply);
  void store(const Target& target, const std::string& line, std::function<void()> then, Held reply);
  void fail(const std::string& message, const Held& reply);

  Loop& loop_;
  Client& client_;
  Profiling& profiling_;
  RunChoice& choice_;
  std::function<void()> stored_;  // the file has changed
};

}  // namespace hotlens::session
