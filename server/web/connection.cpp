#include "server/web/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <deque>
#include <optional>

#include "server/web/admission.h"
#include "server/web/pages.h"
#include "server/web/peer.h"

namespace hotlens::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using SocketError = beast::error_code;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

constexpr std::size_t kMaxHeader = 16 * 1024;
constexpr std::chrono::seconds kHttpPatience{20};  // for a request, and between two of them

std::string content_policy(std::uint16_t port) {
  const std::string self = "127.0.0.1:" + std::to_string(port), name = "localhost:" + std::to_string(port);
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self' ws://" +
         self + " ws://" + name + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

class WebSocket : public std::enable_shared_from_this<WebSocket> {
 public:
  WebSocket(beast::tcp_stream stream, std::shared_ptr<Shared> shared) : stream_(std::move(stream)), shared_(std::move(shared)) {}
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;
  ~WebSocket() { closed(); }

  void accept(const Request& request) {
    number_ = shared_->next_peer++;
    shared_->peers[number_] = {.send = nullptr, .close = [self = weak_from_this()] {
                                 if (const auto socket = self.lock()) beast::get_lowest_layer(socket->stream_).close();
                               }};
    beast::get_lowest_layer(stream_).expires_never();
    stream_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
    stream_.read_message_max(kMaxMessage);
    stream_.text(true);
    stream_.async_accept(request, [self = shared_from_this()](SocketError error) {
      if (!error) self->opened();
    });
  }

 private:
  void opened() {
    shared_->peers[number_].send = [self = weak_from_this()](const std::shared_ptr<const std::string>& text) {
      if (const auto socket = self.lock()) socket->send(text);
    };
    shared_->tell_connections();
    read();
  }

  void closed() {
    const auto peer = shared_->peers.find(number_);
    if (peer == shared_->peers.end()) return;
    const bool page = peer->second.send != nullptr;
    shared_->peers.erase(peer);
    if (page) shared_->tell_connections();
  }

  void read() {
    if (waiting_ >= kMaxWaiting) {
      paused_ = true;
      return;
    }
    stream_.async_read(buffer_, [self = shared_from_this()](SocketError error, std::size_t) {
      if (error) return self->closed();
      self->received();
    });
  }

  void received() {
    const std::string body = beast::buffers_to_string(buffer_.data());
    buffer_.consume(buffer_.size());
    protocol::Message message = protocol::decode(body);
    if (auto* request = std::get_if<protocol::Request>(&message)) {
      ++waiting_;
      protocol::Json id = request->id;
      protocol::Reply reply([self = shared_from_this(), id = std::move(id)](const protocol::Outcome& outcome) {
        auto text = std::make_shared<const std::string>(protocol::encode_response(id, outcome));
        asio::post(self->shared_->io, [self, text = std::move(text)] { self->answered(text); });
      });
      shared_->events.handle(std::move(*request), std::move(reply));
    } else if (const auto* rejected = std::get_if<protocol::Rejected>(&message)) {
      send(std::make_shared<const std::string>(protocol::encode_response(rejected->id, std::unexpected(rejected->error))));
    }
    read();
  }

  void answered(const std::shared_ptr<const std::string>& text) {
    --waiting_;
    send(text);
    if (std::exchange(paused_, false)) read();
  }

  void send(const std::shared_ptr<const std::string>& text) {
    unsent_ += text->size();
    if (unsent_ > kMaxUnsent) return beast::get_lowest_layer(stream_).close();
    queue_.push_back(text);
    if (queue_.size() == 1) write();
  }

  void write() {
    stream_.async_write(asio::buffer(*queue_.front()), [self = shared_from_this()](SocketError error, std::size_t) {
      if (error) return self->closed();
      self->unsent_ -= self->queue_.front()->size();
      self->queue_.pop_front();
      if (!self->queue_.empty()) self->write();
    });
  }

  websocket::stream<beast::tcp_stream> stream_;
  std::shared_ptr<Shared> shared_;
  std::uint64_t number_ = 0;
  beast::flat_buffer buffer_;
  std::deque<std::shared_ptr<const std::string>> queue_;
  std::size_t waiting_ = 0, unsent_ = 0;
  bool paused_ = false;  // too many requests wait for an answer
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<Shared> shared) : stream_(std::move(socket)), shared_(std::move(shared)) {}
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() { shared_->peers.erase(number_); }

  void start() {
    number_ = shared_->next_peer++;
    shared_->peers[number_] = {.send = nullptr, .close = [self = weak_from_this()] {
                                 if (const auto connection = self.lock()) connection->stream_.close();
                               }};
    read();
  }

 private:
  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(0);
    stream_.expires_after(kHttpPatience);
    shared_->peers[number_].waits_since = ++shared_->waits;
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](SocketError error, std::size_t) {
      if (!error) self->received(self->parser_->release());
    });
  }

  void received(const Request& request) {
    shared_->peers[number_].waits_since = 0;
    Asked asked{.target = request.target(), .host = request[http::field::host], .origin = std::nullopt};
    if (const auto origin = request.find(http::field::origin); origin != request.end()) asked.origin = origin->value();
    const Admission admission = admit(asked, shared_->port, shared_->token);
    if (admission == Admission::socket && websocket::is_upgrade(request)) {
      if (shared_->open_pages() >= kMaxPages) {
        return answer(request, http::status::service_unavailable, {"Too many pages are open. Close one, then reload this one.", kText});
      }
      std::make_shared<WebSocket>(std::move(stream_), shared_)->accept(request);
      return;
    }
    const bool wanted = request.method() == http::verb::get || request.method() == http::verb::head;
    if (!wanted || admission == Admission::socket) return answer(request, http::status::bad_request, {"Only GET is answered here.", kText});
    if (admission == Admission::once) return exchange(request, code_in(asked.target));
    if (admission == Admission::page || admission == Admission::empty_page) {
      Page page = read_page(shared_->pages, "/").value_or(missing_page());
      if (admission == Admission::page && shared_->events.first)
        page.body = with_first_answers(std::move(page.body), shared_->events.first());
      return answer(request, http::status::ok, std::move(page));
    }
    if (admission != Admission::file) return answer(request, http::status::forbidden, {std::string(refusal(admission)), kText});
    const std::string_view path = path_of(asked.target);
    std::optional<Page> file = path == "/index.html" ? std::nullopt : read_page(shared_->pages, path);  // the page itself wants the token
    if (!file) return answer(request, http::status::not_found, {std::string(refusal(Admission::not_found)), kText});
    answer(request, http::status::ok, std::move(*file));
  }

  // The code stood on a command line, where every user of this machine can read it: it counts once, and for the user that it was made for.
  void exchange(const Request& request, std::string_view code) {
    SocketError error;
    const auto peer = stream_.socket().remote_endpoint(error);
    const bool ours = !error && is_of_this_user(peer.port(), shared_->port);
    if (!ours || !shared_->codes.take(code)) {
      return answer(request, http::status::forbidden, {std::string(refusal(Admission::once)), kText});
    }
    response_to(request, http::status::see_other, {"", kText});
    response_.set(http::field::location, "/?token=" + shared_->token);
    send();
  }

  void answer(const Request& request, http::status status, Page page) {
    response_to(request, status, std::move(page));
    send();
  }

  void response_to(const Request& request, http::status status, Page page) {
    response_ = Response(status, request.version());
    response_.set(http::field::content_type, page.type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("Content-Security-Policy", content_policy(shared_->port));
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Referrer-Policy", "no-referrer");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    response_.set("Cross-Origin-Opener-Policy", "same-origin");
    response_.keep_alive(request.keep_alive());
    const std::size_t size = page.body.size();
    if (request.method() != http::verb::head) response_.body() = std::move(page.body);
    response_.content_length(size);
  }

  void send() {
    http::async_write(stream_, response_, [self = shared_from_this()](SocketError error, std::size_t) {
      if (!error && self->response_.keep_alive()) return self->read();
      self->stream_.close();
    });
  }

  static constexpr std::string_view kText = "text/plain; charset=utf-8";

  beast::tcp_stream stream_;
  std::shared_ptr<Shared> shared_;
  std::uint64_t number_ = 0;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  Response response_;
};

}  // namespace

std::size_t Shared::open_pages() const {
  return static_cast<std::size_t>(std::ranges::count_if(peers, [](const auto& peer) { return peer.second.send != nullptr; }));
}

void Shared::tell_connections() const {
  if (events.connections) events.connections(open_pages());
}

void Shared::make_room() {
  if (peers.size() - open_pages() < kMaxStrangers) return;
  const auto since = [](const auto& peer) { return peer.second.waits_since; };
  auto oldest = peers.end();
  for (auto peer = peers.begin(); peer != peers.end(); ++peer) {
    if (since(*peer) > 0 && (oldest == peers.end() || since(*peer) < since(*oldest))) oldest = peer;
  }
  if (oldest == peers.end()) return;
  const auto close = std::move(oldest->second.close);
  peers.erase(oldest);
  close();
}

void serve_connection(asio::ip::tcp::socket socket, const std::shared_ptr<Shared>& shared) {
  shared->make_room();
  SocketError ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // an answer's last packet would wait 40 ms for an acknowledgement
  std::make_shared<HttpConnection>(std::move(socket), shared)->start();
}

}  // namespace hotlens::web
