// initialize, shutdown, exit, and a client that disappears.
#include <signal.h>

#include <cerrno>

#include "server/session/session.h"

namespace hotlens::session {
namespace {

constexpr std::chrono::seconds kProcessCheck{2};
// Before the answer to shutdown nothing waits for the child; this is what it gets to put its files away.
constexpr std::chrono::milliseconds kShutdownGrace{200};

bool is_alive(std::int64_t process) {
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
}

}  // namespace

Session::Answer Session::initialize(const Json& params) {
  const protocol::Reader reader(params);
  if (!params.is_object()) reader.fail("an object");
  if (const auto capabilities = reader.maybe("capabilities"); capabilities && !capabilities->json().is_object()) {
    capabilities->fail("an object");
  }
  if (auto error = reader.error()) return std::unexpected(*error);

  Initialize from = read_initialize(params);
  client_.can = from.client;
  folders_ = std::move(from.folders);
  initial_options_ = std::move(from.options);
  if (const auto trusted = initial_options_.is_object() ? initial_options_.find("trusted") : initial_options_.end();
      initial_options_.is_object() && trusted != initial_options_.end() && trusted->is_boolean()) {
    trusted_ = trusted->get<bool>();
  }
  settings_ = read_settings(initial_options_, Settings{}).settings;
  life_ = Life::running;
  if (from.process_id) watch_client_process(*from.process_id, false);
  log_.note("client " + from.client_name + ", " + std::to_string(folders_.size()) + " folders, " + std::string(name(client_.can.encoding)));
  return initialize_result(client_.can);
}

void Session::initialized(const Json& /*params*/) {
  if (const Json list = registrations(client_.can); !list.empty()) {
    client_.request("client/registerCapability", {{"registrations", list}});
  }
  apply_settings(Json());  // complaints about the initial options could not be shown before
  pull_configuration();
  start_profiles();
}

Session::Answer Session::shutdown(const Json& /*params*/) {
  life_ = Life::shut_down;
  poll_timer_ = {};
  for (auto& [key, one] : std::exchange(waiting_, {}))
    one.reply(std::unexpected(protocol::RpcError{protocol::Code::request_cancelled, "shutting down"}));
  waiting_ids_.clear();
  if (run_) {
    if (run_->progress) run_->progress->end("Stopped: the editor closes.");
    if (run_->run) run_->run->cancel(kShutdownGrace);
  }
  return Json();
}

void Session::exit(const Json& /*params*/) {
  loop_.stop(life_ == Life::shut_down ? 0 : 1);
}

void Session::input_ended(bool broken, const std::string& reason) {
  if (broken) log_.warn("closing: " + reason);
  loop_.stop(!broken && life_ == Life::shut_down ? 0 : 1);
}

// A process that is not there at the first look tells nothing: the client may live behind another process namespace.
void Session::watch_client_process(std::int64_t process, bool seen_alive) {
  const bool alive = process > 1 && is_alive(process);
  if (!alive && seen_alive) {
    log_.warn("closing: the client's process is gone");
    loop_.stop(1);
  }
  if (!alive) return;
  process_timer_ = loop_.after(kProcessCheck, [this, process] { watch_client_process(process, true); });
}

void Session::cancel_request(const Json& params) {
  const auto id = params.is_object() ? params.find("id") : params.end();
  if (!params.is_object() || id == params.end()) return;
  const auto key = waiting_ids_.find(*id);
  if (key == waiting_ids_.end()) return;
  auto waiting = waiting_.extract(key->second);
  waiting_ids_.erase(key);
  if (waiting) waiting.mapped().reply(std::unexpected(protocol::RpcError{protocol::Code::request_cancelled, "cancelled"}));
}

}  // namespace hotlens::session
