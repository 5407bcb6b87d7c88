// The strand: one thread that owns all mutable state of the server, and a pool for work that blocks.
//
// post() and work() may be called from any thread; everything else and every task given to post() or after() runs on the strand. A job of
// work() sees only what it captured; what it gives, or throws, comes back to the strand as a Result. A task of the strand that throws is a
// bug: it is told to on_fault() and costs nothing else.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include "annotator/common/attempt.h"

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

  // Runs `job` on the pool, then `done` with its Result on the strand.
  template <std::invocable Job, class Done>
  void work(Job job, Done done) {
    on_pool([this, job = std::move(job), done = std::move(done)]() mutable {
      auto result = attempt(job);
      post([done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
    });
  }
  [[nodiscard]] Timer after(std::chrono::milliseconds delay, Task task);

  int run();  // until stop(), whose code it returns; may be called again
  void stop(int code);
  void on_terminate(Task task);  // SIGTERM, SIGINT or SIGHUP came; on the strand, once
  void on_fault(std::function<void(const Error&)> told);

 private:
  void on_pool(Task task);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hotlens::session
