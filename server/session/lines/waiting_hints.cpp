#include "server/session/lines/waiting_hints.h"

#include <algorithm>
#include <utility>

namespace hotlens::session {
namespace {

protocol::Answer cancelled(const char* why) {
  return std::unexpected(protocol::RpcError{protocol::Code::request_cancelled, why});
}

}  // namespace

void WaitingHints::wait(protocol::Json request, std::string uri, Make make, protocol::Reply reply) {
  const std::int64_t number = ++last_;
  Loop::Timer limit = loop_.after(limit_, [this, number] { answer_late(number); });
  waiting_.push_back({number, std::move(request), std::move(uri), std::move(make), std::move(reply), std::move(limit)});
}

void WaitingHints::answer_late(std::int64_t number) {
  const auto late = std::ranges::find(waiting_, number, &Waiting::number);
  if (late == waiting_.end()) return;
  Waiting one = std::move(*late);
  waiting_.erase(late);
  one.reply(protocol::Written(one.make()));
}

void WaitingHints::answer(const std::function<bool(const std::string& uri)>& is_known) {
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    if (is_known(one->uri)) {
      one->reply(protocol::Written(one->make()));
      waiting_.erase(one);
    }
    one = next;
  }
}

void WaitingHints::cancel(const protocol::Json& request) {
  const auto found = std::ranges::find(waiting_, request, &Waiting::request);
  if (found == waiting_.end()) return;
  found->reply(cancelled("cancelled"));
  waiting_.erase(found);
}

void WaitingHints::end() {
  for (Waiting& one : std::exchange(waiting_, {})) one.reply(cancelled("shutting down"));
}

}  // namespace hotlens::session
