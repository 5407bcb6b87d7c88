// The client's process: where it disappears, nobody is left to answer.
#pragma once

#include <cstdint>
#include <functional>

#include "server/session/client/loop.h"

namespace hotlens::session {

class ClientProcess {
 public:
  ClientProcess(Loop& loop, std::function<void()> gone) : loop_(loop), gone_(std::move(gone)) {}

  // A process that is not there at the first look tells nothing: the client may live behind another process namespace.
  void watch(std::int64_t process);

 private:
  void look();

  Loop& loop_;
  std::function<void()> gone_;
  std::int64_t process_ = 0;
  Loop::Timer timer_;
};

}  // namespace hotlens::session
