// The rules of the conversation with one client: which message is handled when, and by whom.
//
// Messages are handled in the order of arrival and at once; a handler that needs what is not there yet keeps the Reply. Every request is
// answered exactly once: refused before `initialize` and after `shutdown`, with an error where its handler throws or drops the Reply. What
// each method does is its owner's, who registers it. Knows the protocol; nothing of documents, profiles or runs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/rpc.h"
#include "server/session/client/channel.h"
#include "server/session/client/client.h"

namespace hotlens::session {

struct Log {
  std::function<void(std::string_view)> note;  // what a reader of the log wants to know
  std::function<void(std::string_view)> warn;  // what somebody should look at
};

class Conversation {
 public:
  using Json = protocol::Json;
  using Handler = std::function<void(const Json& params, protocol::Reply reply)>;
  using Answerer = std::function<protocol::Answer(const Json& params)>;  // a handler that answers at once
  // What was wrong with the params; it is logged.
  using Listener = std::function<std::optional<protocol::RpcError>(const Json& params)>;
  struct Events {
    Answerer initialize;  // an error leaves the conversation unopened
    // May put the params into other terms; what it returns, if anything, puts the answer back.
    std::function<ForCell(std::string_view method, Json& params)> translate;
    std::function<void()> shut_down;      // before the answer to `shutdown`
    std::function<void(int code)> leave;  // the program ends
  };

  Conversation(Client& client, Log log, Events events);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void on_request(std::string method, Handler handler);
  void answer(std::string method, Answerer answerer);
  void on_notification(std::string method, Listener listener);

  void receive(Incoming incoming);
  void input_ended(bool broken, const std::string& reason);

  bool running() const { return life_ == Life::running; }
  const Json& current() const { return current_; }  // the id of the request that is being handled
  const Log& log() const { return log_; }

 private:
  enum class Life : std::uint8_t { fresh, running, shut_down };

  void dispatch(Incoming incoming);
  void handle(protocol::Request request, bool cancelled);
  void handle(const protocol::Notification& notification);
  void handle(protocol::Rejected rejected);
  std::optional<protocol::RpcError> refusal(const protocol::Request& request, bool cancelled) const;
  void leave(bool orderly);

  Client& client_;
  Log log_;
  Events events_;
  Life life_ = Life::fresh;
  Json current_;
  std::map<std::string, Handler, std::less<>> requests_;
  std::map<std::string, Listener, std::less<>> notifications_;
};

}  // namespace hotlens::session
