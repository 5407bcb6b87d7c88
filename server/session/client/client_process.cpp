#include "server/session/client/client_process.h"

#include <signal.h>

#include <cerrno>

namespace hotlens::session {
namespace {

constexpr std::chrono::seconds kLookEvery{2};

bool is_alive(std::int64_t process) {
  return process > 1 && (::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
}

}  // namespace

void ClientProcess::watch(std::int64_t process) {
  process_ = process;
  if (is_alive(process)) timer_ = loop_.after(kLookEvery, [this] { look(); });
}

void ClientProcess::look() {
  if (!is_alive(process_)) return gone_();
  timer_ = loop_.after(kLookEvery, [this] { look(); });
}

}  // namespace hotlens::session
