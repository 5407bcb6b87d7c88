// Requests for hints that came before the hints are known.
//
// A client that cannot be told to ask again gets its first answer when it is known, but waits no longer than a limit: then it gets what is
// known by then. Knows requests and time; nothing of documents or profiles.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <string>

#include "protocol/rpc.h"
#include "server/session/client/loop.h"

namespace hotlens::session {

class WaitingHints {
 public:
  using Make = std::move_only_function<std::string()>;  // the answer as JSON text, from what is known when it is called

  static constexpr std::chrono::milliseconds kLimit{3000};
  explicit WaitingHints(Loop& loop, std::chrono::milliseconds limit = kLimit) : loop_(loop), limit_(limit) {}

  // `request`: its id, for cancel(); `uri`: of the document that it is about.
  void wait(protocol::Json request, std::string uri, Make make, protocol::Reply reply);
  // Answers those whose document is known now.
  void answer(const std::function<bool(const std::string& uri)>& is_known);
  void cancel(const protocol::Json& request);  // of an id that does not wait: nothing
  void end();                                  // the server shuts down

  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::int64_t number = 0;
    protocol::Json request;
    std::string uri;
    Make make;
    protocol::Reply reply;
    Loop::Timer limit;
  };
  void answer_late(std::int64_t number);

  Loop& loop_;
  std::chrono::milliseconds limit_;
  std::int64_t last_ = 0;
  std::list<Waiting> waiting_;
};

}  // namespace hotlens::session
