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

#include "server/web/admission.h"
#include "server/web/server.h"

namespace hotlens::web {

constexpr std::size_t kMaxMessage = 1 << 20;  // bytes from a page; its longest request is far below
constexpr std::size_t kMaxWaiting = 16;       // requests of one page without an answer
constexpr std::size_t kMaxUnsent = 64 << 20;  // bytes for a page that does not read; then it is closed
constexpr std::size_t kMaxPages = 64;         // WebSockets, each of which had the token
// Connections that may be anybody's. A browser opens six at a time for one page; one more than these takes the place of the one that has
// said nothing for longest, so that nobody can keep others out by holding lines open.
constexpr std::size_t kMaxStrangers = 64;

struct Peer {
  std::function<void(const std::shared_ptr<const std::string>&)> send;  // of a page's WebSocket, else null
  std::function<void()> close;
  std::uint64_t waits_since = 0;  // for a request; the count of such waits then, 0 while one is answered
};

// What the connections of one server share. Touched by the server's thread alone, `io` excepted.
struct Shared {
  boost::asio::io_context io{1};
  std::filesystem::path pages;
  std::string token;
  OneUse codes;
  std::uint16_t port = 0;
  Events events;
  std::map<std::uint64_t, Peer> peers;
  std::uint64_t next_peer = 1, waits = 0;

  std::size_t open_pages() const;  // how many WebSockets are open
  void tell_connections() const;
  void make_room();  // for one more stranger
};

void serve_connection(boost::asio::ip::tcp::socket socket, const std::shared_ptr<Shared>& shared);

}  // namespace hotlens::web
