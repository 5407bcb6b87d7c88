// The strand: one thread that owns all mutable state of the server, and a pool for work that blocks.
//
// post() and work() may be called from any thread; everything else and every task given to post() or after() runs on the strand. A task of
// work() sees only what it captured and posts its result back.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace hotlens::session {

class Loop {
 public:
  using Task = std::move_only_function<void()>;

  // A task that will run later; destroying the handle cancels it.
  class Timer {
   public:
    Timer();
    Timer(Timer&&) noexcept;
    Timer& operator=(Timer&&) noexcept;
    ~Timer();

   private:
    friend class Loop;
    struct State;
    std::unique_ptr<State> state_;
  };

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();  // waits for the pool

  void post(Task task);
  void work(Task task);
  [[nodiscard]] Timer after(std::chrono::milliseconds delay, Task task);

  int run();  // until stop(); returns its code
  void stop(int code);
  void on_terminate(Task task);  // SIGTERM, SIGINT or SIGHUP came; on the strand, once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hotlens::session
