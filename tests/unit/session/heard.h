// A client that keeps what it is told.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/session/client/client.h"
#include "server/session/client/loop.h"

namespace hotlens::test {

struct Heard {
  std::vector<protocol::Json> messages;
  session::Client client{[this](const std::string& body, session::Output::Weight) { messages.push_back(protocol::Json::parse(body)); }};

  // The params of every notification and request of this method.
  std::vector<protocol::Json> of(const std::string& method) const {
    std::vector<protocol::Json> list;
    for (const protocol::Json& message : messages) {
      if (message.value("method", "") == method) list.push_back(message.value("params", protocol::Json()));
    }
    return list;
  }
};

// A reply whose outcome can be looked at; null while there is none.
struct Asked {
  std::shared_ptr<protocol::Json> outcome = std::make_shared<protocol::Json>();

  protocol::Reply reply() const {
    return protocol::Reply([outcome = outcome](const protocol::Outcome& given) {
      *outcome = protocol::Json::parse(protocol::encode_response(1, given));
      outcome->erase("jsonrpc");
      outcome->erase("id");
    });
  }
  protocol::Json result() const { return outcome->value("result", protocol::Json()); }
  int error() const { return outcome->contains("error") ? (*outcome)["error"]["code"].get<int>() : 0; }
};

// Runs the strand until `done` says so; false after ten seconds.
template <class Done>
bool run_until(session::Loop& loop, Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  session::Loop::Timer timer;
  std::function<void()> look = [&] {
    if (done()) return loop.stop(0);
    if (std::chrono::steady_clock::now() > end) return loop.stop(1);
    timer = loop.after(std::chrono::milliseconds(2), look);
  };
  loop.post([&] { look(); });
  return loop.run() == 0;
}

}  // namespace hotlens::test
