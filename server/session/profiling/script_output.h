// What a script prints while it is profiled, for a client that shows it as a terminal does: colours, bars that are drawn over themselves.
// It is sent a few times a second; of a flood, which nobody reads, the newest part.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "server/session/client/client.h"
#include "server/session/client/loop.h"

namespace hotlens::session {

class ScriptOutput {
 public:
  ScriptOutput(Client& client, Loop& loop) : client_(client), loop_(loop) {}

  void begin(const std::string& command);  // of another run: what was there goes
  void write(std::string_view bytes, bool is_error);
  void end(const std::string& said);  // by us, about the run

 private:
  void send_soon();
  void send();

  Client& client_;
  Loop& loop_;
  bool begins_ = false;
  std::string waiting_;
  std::size_t left_out_ = 0;            // bytes of a flood
  std::array<std::string, 2> started_;  // of stdout and stderr: the first bytes of a character whose rest has not come
  Loop::Timer tick_;
  bool due_ = false;
};

// How many bytes of UTF-8 text end with a whole character; what is no UTF-8 counts as whole.
std::size_t whole_characters(std::string_view text);

}  // namespace hotlens::session
