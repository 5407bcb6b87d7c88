// One connection: a few HTTP requests, or a WebSocket. Everything here runs on the server's one thread, but for the answers, which may come
// from any.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/web/server.h"

namespace hotlens::web {

constexpr std::size_t kMaxMessage = 1 << 20;  // bytes from a page; its longest request is far below
constexpr std::size_t kMaxWaiting = 16;       // requests of one page without an answer
constexpr std::size_t kMaxUnsent = 64 << 20;  // bytes for a page that does not read; then it is closed
constexpr std::size_t kMaxConnections = 64;   // a browser opens six at a time for one page

struct Peer {
  std::function<void(const std::shared_ptr<const std::string>&)> send;  // of a WebSocket, else null
  std::function<void()> close;
};

// What the connections of one server share. Touched by the server's thread alone, `io` excepted.
struct Shared {
  boost::asio::io_context io{1};
  std::filesystem::path pages;
  std::string token;
  std::uint16_t port = 0;
  Events events;
  std::map<std::uint64_t, Peer> peers;
  std::uint64_t next_peer = 1;

  void tell_connections() const;  // how many WebSockets are open
};

void serve_connection(boost::asio::ip::tcp::socket socket, const std::shared_ptr<Shared>& shared);

}  // namespace hotlens::web
