// The two directions of the connection, each on its own thread, so that neither a slow client nor a huge message holds up the strand.
//
// Input reads, frames and parses; the strand takes whole messages in order. Output writes whole frames in order. Both are bounded: Input
// stops reading while the strand is behind, Output first drops what may be lost and gives up on a client that stopped reading.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "protocol/framing.h"
#include "protocol/rpc.h"
#include "server/runs/spawn.h"

namespace hotlens::session {

struct Connection {
  runs::Fd in, out;
};

// The client's two streams under other numbers: what prints to standard output by mistake lands in the log, and no child inherits the
// input.
Connection standard_streams();

enum class Framing : std::uint8_t { headers, lines };

struct Incoming {
  protocol::Message message;
  bool cancelled = false;  // a request that was cancelled while it waited here
};

class Input {
 public:
  enum class End : std::uint8_t { closed, broken };  // broken: a fault in the framing, or cut inside a message
  struct Events {
    std::function<void()> arrived;                       // one message can be taken
    std::function<void(End, std::string reason)> ended;  // once; nothing arrives after it
  };

  Input(int fd, Events events, Framing framing = Framing::headers);  // the events come on the reading thread
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  std::optional<Incoming> take();

 private:
  void read();
  template <class Frames>
  void read(Frames frames);
  bool deliver(protocol::Message message);

  int fd_;
  Events events_;
  Framing framing_;
  runs::Fd stop_;
  std::mutex mutex_;
  std::condition_variable space_;
  std::deque<Incoming> waiting_;
  bool stopping_ = false;
  std::jthread thread_;  // last: joined first
};

class Output {
 public:
  enum class Weight : std::uint8_t { needed, droppable };

  // `broken` comes once, on the writing thread
  Output(int fd, std::function<void()> broken, Framing framing = Framing::headers);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  void send(const std::string& body, Weight weight);
  void flush(std::chrono::milliseconds limit);  // waits until all is written or the time is over

 private:
  void write();
  bool write_all(std::string_view bytes);

  int fd_;
  std::function<void()> broken_;
  Framing framing_;
  runs::Fd stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false, stopping_ = false, failed_ = false;
  std::jthread thread_;  // last: joined first
};

}  // namespace hotlens::session
