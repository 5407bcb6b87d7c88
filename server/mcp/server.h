// The conversation with one agent: Model Context Protocol, revisions 2024-11-05 to 2025-11-25, over JSON-RPC (modelcontextprotocol.io).
//
// What only reads is answered from the pool. What takes long runs in a child process, one at a time, with progress, a deadline and cancel.
// User code runs only in the tool `profile`, and only after the person said yes to the command line that they were shown, or started the
// server so that nobody needs to ask. A tool that cannot answer says why in its result, so that the agent can go on; bad input costs one
// answer. Everything runs on the strand; children end with this object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "server/mcp/child.h"
#include "server/mcp/tools.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/profiling/plan.h"

namespace hotlens::mcp {

struct ServerOptions {
  Folder folder;
  std::string python;      // the interpreter; empty: found as usual
  bool allow_run = false;  // `profile` asks nobody
};

class Server {
 public:
  Server(session::Loop& loop, session::Client::Send send, ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void receive(session::Incoming incoming);
  void input_ended();  // what is being answered from the pool gets a moment; children end at once
  void end() { calls_.clear(); }

 private:
  struct Call {
    Json id, token;  // of the request, and of its progress where that is wanted
    const Tool* tool = nullptr;
    int progress = 0;
    std::unique_ptr<Child> child;
  };
  using Serial = std::int64_t;

  void handle(const protocol::Request& request);
  void handle(const protocol::Notification& notification);
  protocol::Answer answer(const std::string& method, const Json& params);
  protocol::Answer initialize(const Json& params);
  void list_resources(const Json& id);
  void read_resource(const Json& id, const Json& params);
  void call(const Json& id, const Json& params);
  void cancelled(const Json& params);

  void work(Serial serial, const Json& arguments);
  void start_lab(Serial serial, const Json& arguments);
  void start_profile(Serial serial, const Json& arguments);
  void ask_person(Serial serial, const session::Plan& plan, std::chrono::seconds limit);
  void run(Serial serial, const session::Plan& plan, std::chrono::seconds limit);
  void run_ended(Serial serial, const std::string& name, const Child::End& end);

  bool busy(Serial serial) const;  // another child is at work, or about to be
  Call* find(Serial serial);
  void report_progress(Serial serial, const std::string& words, std::optional<int> percent);
  void finish(Serial serial, Result<Json> result);
  // Runs on the pool; `then` gets what it gave, unless the call was cancelled.
  template <class Job, class Then>
  void on_pool(Serial serial, Job job, Then then);
  void leave_when_idle();

  session::Loop& loop_;
  session::Client client_;
  ServerOptions options_;
  bool initialized_ = false, can_ask_ = false, ended_ = false;
  Serial last_ = 0;
  std::map<Serial, Call> calls_;
  int reading_ = 0;  // resources that are being read
  session::Loop::Timer last_moment_;
};

}  // namespace hotlens::mcp
