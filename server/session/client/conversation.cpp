#include "server/session/client/conversation.h"

#include <chrono>
#include <tuple>
#include <utility>

#include "annotator/common/attempt.h"
#include "server/session/client/crash_note.h"

namespace hotlens::session {
namespace {

using protocol::Answer;
using protocol::Code;
using protocol::RpcError;

// A turn of the strand that a person could feel; it is named in the log.
constexpr std::chrono::milliseconds kSlowTurn{100};

std::string label(const protocol::Message& message) {
  if (const auto* request = std::get_if<protocol::Request>(&message)) return request->method;
  if (const auto* notification = std::get_if<protocol::Notification>(&message)) return notification->method;
  return "an answer";
}

}  // namespace

Conversation::Conversation(Client& client, Log log, Events events) : client_(client), log_(std::move(log)), events_(std::move(events)) {
  answer("initialize", [this](const Json& params) {
    Answer result = events_.initialize(params);
    if (result) life_ = Life::running;
    return result;
  });
  answer("shutdown", [this](const Json&) -> Answer {
    life_ = Life::shut_down;
    events_.shut_down();
    return Json();
  });
}

void Conversation::on_request(std::string method, Handler handler) {
  requests_[std::move(method)] = std::move(handler);
}

void Conversation::answer(std::string method, Answerer answerer) {
  on_request(std::move(method), [answerer = std::move(answerer)](const Json& params, protocol::Reply reply) { reply(answerer(params)); });
}

void Conversation::on_notification(std::string method, Listener listener) {
  notifications_[std::move(method)] = std::move(listener);
}

void Conversation::receive(Incoming incoming) {
  const auto began = std::chrono::steady_clock::now();
  const std::string what = label(incoming.message);
  const Handling now(what);
  dispatch(std::move(incoming));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  if (took > kSlowTurn) log_.note(what + " took " + std::to_string(took.count()) + " ms");
}

void Conversation::input_ended(bool broken, const std::string& reason) {
  if (broken) log_.warn("closing: " + reason);
  leave(!broken);
}

void Conversation::leave(bool orderly) {
  events_.leave(orderly && life_ == Life::shut_down ? 0 : 1);
}

void Conversation::dispatch(Incoming incoming) {
  if (auto* request = std::get_if<protocol::Request>(&incoming.message)) {
    handle(std::move(*request), incoming.cancelled);
  } else if (const auto* notification = std::get_if<protocol::Notification>(&incoming.message)) {
    handle(*notification);
  } else if (auto* rejected = std::get_if<protocol::Rejected>(&incoming.message)) {
    handle(std::move(*rejected));
  } else {
    client_.on_response(std::get<protocol::Response>(incoming.message));
  }
}

std::optional<RpcError> Conversation::refusal(const protocol::Request& request, bool cancelled) const {
  const bool is_initialize = request.method == "initialize";
  if (life_ == Life::shut_down) return RpcError{Code::invalid_request, "the server was shut down"};
  if (life_ == Life::fresh && !is_initialize) return RpcError{Code::server_not_initialized, "the first request must be `initialize`"};
  if (life_ == Life::running && is_initialize) return RpcError{Code::invalid_request, "the server is initialized already"};
  if (!requests_.contains(request.method)) return RpcError{Code::method_not_found, "no such method: " + request.method};
  if (cancelled) return RpcError{Code::request_cancelled, "cancelled"};
  return std::nullopt;
}

void Conversation::handle(protocol::Request request, bool cancelled) {
  if (auto refused = refusal(request, cancelled)) return client_.respond(request.id, Answer(std::unexpected(std::move(*refused))));
  const ForCell back = events_.translate ? events_.translate(request.method, request.params) : nullptr;
  protocol::Reply reply(
      [this, id = request.id, back](const protocol::Outcome& outcome) { client_.respond(id, back ? back(outcome) : outcome); });
  current_ = request.id;
  const Handler& handler = requests_.find(request.method)->second;
  const Result<void> done = attempt([&] { handler(request.params, std::move(reply)); });
  if (!done) log_.warn(request.method + ": " + done.error().message);  // the reply answered InternalError when it was unwound
  current_ = nullptr;
}

void Conversation::handle(const protocol::Notification& notification) {
  if (notification.method == "exit") return leave(true);
  const auto listener = notifications_.find(notification.method);
  if (life_ != Life::running || listener == notifications_.end()) return;
  Json params = notification.params;
  if (events_.translate) std::ignore = events_.translate(notification.method, params);
  const Result<std::optional<RpcError>> wrong = attempt([&] { return listener->second(params); });
  if (!wrong) log_.warn(notification.method + ": " + wrong.error().message);
  if (wrong && *wrong) log_.warn(notification.method + ": " + (*wrong)->message);
}

void Conversation::handle(protocol::Rejected rejected) {
  log_.warn("a message was rejected: " + rejected.error.message);
  client_.respond(rejected.id, Answer(std::unexpected(std::move(rejected.error))));
}

}  // namespace hotlens::session
