#include "server/web/server.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "server/web/admission.h"
#include "server/web/connection.h"

namespace hotlens::web {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds kAcceptPause{100};

}  // namespace

struct Server::State {
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  tcp::acceptor acceptor{shared->io};
  std::jthread thread;

  asio::steady_timer pause{shared->io};

  void accept() {
    acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (error) return accept_later();
      serve_connection(std::move(socket), shared);
      accept();
    });
  }

  // Whatever it is that is short (descriptors, memory) is so a moment later, too: asking at once would only spin.
  void accept_later() {
    pause.expires_after(kAcceptPause);
    pause.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled && acceptor.is_open()) accept();
    });
  }

  void close() {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    const auto peers = shared->peers;  // closing takes them out
    for (const auto& [number, peer] : peers) peer.close();
  }
};

Result<std::unique_ptr<Server>> Server::start(Settings settings, Events events) {
  auto state = std::make_unique<State>();
  const tcp::endpoint where(asio::ip::address_v4::loopback(), settings.port);
  boost::system::error_code error;
  state->acceptor.open(where.protocol(), error);
  if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) state->acceptor.bind(where, error);
  if (!error) state->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return std::unexpected(
        Error{ErrorCode::failed,
              "cannot listen on 127.0.0.1:" + std::to_string(settings.port) + ": " + error.message() + "; choose another port",
              {}});
  }
  Shared& shared = *state->shared;
  shared.pages = std::move(settings.pages);
  shared.token = random_token();
  shared.port = state->acceptor.local_endpoint().port();
  shared.events = std::move(events);
  state->accept();
  state->thread = std::jthread([shared = state->shared] { shared->io.run(); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  asio::post(state_->shared->io, [this] { state_->close(); });
  state_->thread.join();
}

std::uint16_t Server::port() const {
  return state_->shared->port;
}

std::string Server::url() const {
  return "http://127.0.0.1:" + std::to_string(port()) + "/?token=" + state_->shared->token;
}

std::string Server::url_to_open() {
  return "http://127.0.0.1:" + std::to_string(port()) + "/?once=" + state_->shared->codes.make();
}

void Server::notify(std::string_view method, const protocol::Json& params) {
  auto text = std::make_shared<const std::string>(protocol::encode_notification(method, params));
  asio::post(state_->shared->io, [shared = state_->shared, text = std::move(text)] {
    for (const auto& [number, peer] : shared->peers) {
      if (peer.send) peer.send(text);
    }
  });
}

}  // namespace hotlens::web
