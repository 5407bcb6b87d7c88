#include "server/session/client/loop.h"

#include <sys/resource.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <utility>

namespace hotlens::session {
namespace asio = boost::asio;

namespace {

// One load and one short look-up at a time; more would take the cores from the script that is being measured.
constexpr std::size_t kPoolThreads = 2;

// Background work gives way to the strand when cores are short; still before truly idle work, somebody waits for the hints.
constexpr int kPoolNiceness = 5;

void give_way() {
  thread_local const bool done = ::setpriority(PRIO_PROCESS, 0, kPoolNiceness) == 0;  // on Linux 0 is this thread
  static_cast<void>(done);
}

}  // namespace

struct Loop::State {
  asio::io_context strand{1};
  asio::executor_work_guard<asio::io_context::executor_type> alive = asio::make_work_guard(strand);
  asio::signal_set signals{strand};
  asio::thread_pool pool{kPoolThreads};
  std::atomic<int> code = 0;  // stop() may come from the thread that writes
  std::function<void(const Error&)> fault;

  void run(Task& task) const {
    const Result<void> done = attempt(task);
    if (!done && fault) fault(done.error());
  }
};

struct Loop::Timer::State {
  explicit State(asio::io_context& strand) : timer(strand) {}
  asio::steady_timer timer;
};

Loop::Timer::Timer() = default;
Loop::Timer::Timer(Timer&&) noexcept = default;
Loop::Timer& Loop::Timer::operator=(Timer&&) noexcept = default;
Loop::Timer::~Timer() = default;

Loop::Loop() : state_(std::make_unique<State>()) {}

Loop::~Loop() {
  state_->pool.join();
}

void Loop::post(Task task) {
  asio::post(state_->strand, [state = state_.get(), task = std::move(task)]() mutable { state->run(task); });
}

void Loop::on_pool(Task task) {
  asio::post(state_->pool, [task = std::move(task)]() mutable {
    give_way();
    task();
  });
}

Loop::Timer Loop::after(std::chrono::milliseconds delay, Task task) {
  Timer handle;
  handle.state_ = std::make_unique<Timer::State>(state_->strand);
  handle.state_->timer.expires_after(delay);
  handle.state_->timer.async_wait([state = state_.get(), task = std::move(task)](const boost::system::error_code& cancelled) mutable {
    if (!cancelled) state->run(task);
  });
  return handle;
}

int Loop::run() {
  state_->strand.restart();
  state_->strand.run();
  return state_->code;
}

void Loop::stop(int code) {
  state_->code = code;
  state_->strand.stop();
}

void Loop::on_fault(std::function<void(const Error&)> told) {
  state_->fault = std::move(told);
}

void Loop::on_terminate(Task task) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) state_->signals.add(signal);
  state_->signals.async_wait([task = std::move(task)](const boost::system::error_code& cancelled, int) mutable {
    if (!cancelled) task();
  });
}

}  // namespace hotlens::session
