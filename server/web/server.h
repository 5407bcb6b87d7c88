// The loopback server of the timeline: its page over HTTP, its messages over WebSockets (protocol/TIMELINE.md, "The page in a browser").
//
// One thread does the input and output of every connection; requests are handed to `handle`, which may answer from any thread. Limits: the
// size of a message, the number of connections, and for each connection the requests that wait for an answer, beyond which nothing more is
// read from it. Nothing is served to other machines, other origins, or without the token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "annotator/common/error.h"
#include "protocol/rpc.h"

namespace hotlens::web {

struct Settings {
  std::uint16_t port = 0;       // 0: any that is free
  std::filesystem::path pages;  // the page's folder
};

struct Events {
  // On the server's thread, so it must not block.
  std::function<void(protocol::Request, protocol::Reply)> handle;
  std::function<void(std::size_t open)> connections;  // how many pages are open now; may be null
  // JSON that travels inside the page, so that its first picture waits for no socket; empty: nothing is ready. On the server's thread, so
  // it must not block; may be null.
  std::function<std::string()> first = nullptr;
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(Settings settings, Events events);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // closes every connection

  std::uint16_t port() const;
  std::string url() const;                                             // with the token
  std::string url_to_open();                                           // for a command line: opens the page once
  void notify(std::string_view method, const protocol::Json& params);  // to every page; from any thread

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hotlens::web
