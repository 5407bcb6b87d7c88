#include "server/session/session.h"

#include <exception>
#include <utility>

#include "protocol/messages.h"

namespace hotlens::session {
namespace {

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

Session::Session(Loop& loop, Client::Send send, Log log)
    : loop_(loop),
      client_(std::move(send)),
      log_(std::move(log)),
      store_(loop, {.changed = [this] { profiles_changed(); },
                    .settled = [this] { profiles_settled(); },
                    .failed = [this](const Error& error) { profile_unreadable(error); }}) {}

const Session::Requests& Session::requests() {
  // A handler that answers at once, and one that may keep the reply.
  constexpr auto now = []<Answer (Session::*handler)(const Json&)>() {
    return [](Session& session, const Json& params, Reply reply) { reply((session.*handler)(params)); };
  };
  constexpr auto later = []<void (Session::*handler)(const Json&, Reply)>() {
    return [](Session& session, const Json& params, Reply reply) { (session.*handler)(params, std::move(reply)); };
  };
  static const Requests kTable{
      {"initialize", now.operator()<&Session::initialize>()},
      {"shutdown", now.operator()<&Session::shutdown>()},
      {"textDocument/inlayHint", later.operator()<&Session::inlay_hints>()},
      {"inlayHint/resolve", now.operator()<&Session::resolve_hint>()},
      {"textDocument/hover", now.operator()<&Session::hover>()},
      {"textDocument/codeLens", now.operator()<&Session::code_lenses>()},
      {"textDocument/codeAction", now.operator()<&Session::code_actions>()},
      {"workspace/executeCommand", later.operator()<&Session::execute_command>()},
      {"hotlens/hints", later.operator()<&Session::own_hints>()},
      {"hotlens/profileState", now.operator()<&Session::profile_state>()},
  };
  return kTable;
}

const Session::Notifications& Session::notifications() {
  constexpr auto to = []<void (Session::*handler)(const Json&)>() {
    return [](Session& session, const Json& params) { (session.*handler)(params); };
  };
  static const Notifications kTable{
      {"initialized", to.operator()<&Session::initialized>()},
      {"exit", to.operator()<&Session::exit>()},
      {"textDocument/didOpen", to.operator()<&Session::did_open>()},
      {"textDocument/didChange", to.operator()<&Session::did_change>()},
      {"textDocument/didSave", to.operator()<&Session::did_save>()},
      {"textDocument/didClose", to.operator()<&Session::did_close>()},
      {"workspace/didChangeWorkspaceFolders", to.operator()<&Session::did_change_folders>()},
      {"workspace/didChangeConfiguration", to.operator()<&Session::did_change_configuration>()},
      {"workspace/didChangeWatchedFiles", to.operator()<&Session::did_change_watched_files>()},
      {"window/workDoneProgress/cancel", to.operator()<&Session::cancel_progress>()},
      {"hotlens/trust", to.operator()<&Session::set_trust>()},
      {"hotlens/timeline/cursor", to.operator()<&Session::timeline_cursor>()},
      {"$/cancelRequest", to.operator()<&Session::cancel_request>()},
  };
  return kTable;
}

void Session::receive(Incoming incoming) {
  const auto began = std::chrono::steady_clock::now();
  const std::string what = label(incoming.message);
  dispatch(std::move(incoming));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  if (took > kSlowTurn) log_.note(what + " took " + std::to_string(took.count()) + " ms");
}

void Session::dispatch(Incoming incoming) {
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

void Session::handle(protocol::Request request, bool cancelled) {
  const auto refuse = [&](Code code, std::string why) { client_.respond(request.id, std::unexpected(RpcError{code, std::move(why)})); };
  const bool is_initialize = request.method == "initialize";
  if (life_ == Life::shut_down) return refuse(Code::invalid_request, "the server was shut down");
  if (life_ == Life::fresh && !is_initialize) return refuse(Code::server_not_initialized, "the first request must be `initialize`");
  if (life_ == Life::running && is_initialize) return refuse(Code::invalid_request, "the server is initialized already");
  const auto handler = requests().find(request.method);
  const bool of_timeline = answers_timeline(request.method);
  if (handler == requests().end() && !of_timeline) return refuse(Code::method_not_found, "no such method: " + request.method);
  if (cancelled) return refuse(Code::request_cancelled, "cancelled");

  Reply reply([this, id = request.id](const protocol::Outcome& outcome) { client_.respond(id, outcome); });
  current_request_ = request.id;
  try {
    if (of_timeline) {
      timeline(request.method, request.params, std::move(reply));
    } else {
      handler->second(*this, request.params, std::move(reply));
    }
  } catch (const std::exception& bug) {
    log_.warn(request.method + ": " + bug.what());  // the reply answered InternalError when it was unwound
  }
  current_request_ = nullptr;
}

void Session::handle(const protocol::Notification& notification) {
  if (life_ != Life::running && notification.method != "exit") return;
  const auto handler = notifications().find(notification.method);
  if (handler == notifications().end()) return;
  try {
    handler->second(*this, notification.params);
  } catch (const std::exception& bug) {
    log_.warn(notification.method + ": " + bug.what());
  }
}

void Session::handle(protocol::Rejected rejected) {
  log_.warn("a message was rejected: " + rejected.error.message);
  client_.respond(rejected.id, std::unexpected(std::move(rejected.error)));
}

void Session::reject_params(std::string_view method, const RpcError& error) {
  log_.warn(std::string(method).append(": ").append(error.message));
}

}  // namespace hotlens::session
