// What the program was doing when it crashed, as its last words: the way to a report that somebody can act on.
//
// A crash is a bug; its note is written by the signal's handler, with nothing that could wait or allocate.
#pragma once

#include <string_view>

namespace hotlens::session {

// While it lives, a crash of this thread is said to be of this message. Of `what` the first 120 bytes count.
class Handling {
 public:
  explicit Handling(std::string_view what);
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  ~Handling();
};

// From now on a crash says so on standard error, and ends the program as it would have ended.
void note_crashes();

}  // namespace hotlens::session
