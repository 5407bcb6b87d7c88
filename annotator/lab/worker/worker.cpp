// hotlens-lab: replays recorded steps with the user's own libtorch and never runs the user's code. Reads requests from standard input and
// answers on standard output, a line each, one at a time. Ends with its input.
//
// Compiled as one file (the headers of torch take longer than all that is ours), at first use, with the user's compiler.
#include "annotator/lab/program/follow.cpp"
#include "annotator/lab/program/literals.cpp"
#include "annotator/lab/program/program.cpp"
#include "annotator/lab/program/views.cpp"
#include "annotator/lab/worker/application.cpp"
#include "annotator/lab/worker/arguments.cpp"
#include "annotator/lab/worker/before.cpp"
#include "annotator/lab/worker/checkpoint.cpp"
#include "annotator/lab/worker/fates.cpp"
#include "annotator/lab/worker/following.cpp"
#include "annotator/lab/worker/meter.cpp"
#include "annotator/lab/worker/replay.cpp"
#include "annotator/lab/worker/requests.cpp"
#include "annotator/lab/worker/samples.cpp"

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <iostream>
#include <mutex>
#include <queue>
#include <thread>

namespace {

using hotlens::lab::Meter;
using hotlens::lab::Requests;
using nlohmann::json;

constexpr std::size_t kMostLine = std::size_t{512} << 20;

// Says on standard error which operator runs, and ends as the signal would have it. Only async-signal-safe calls.
void end_by_signal(int signal) {
  const char* running = hotlens::lab::running_operator();
  if (*running != '\0') {
    [[maybe_unused]] auto written = ::write(STDERR_FILENO, "running ", 8);
    written = ::write(STDERR_FILENO, running, std::strlen(running));
    written = ::write(STDERR_FILENO, "\n", 1);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Reads on while a request is worked on, so that {"cancel": id} reaches it. The end of the input ends the process at once: who asked is
// gone.
class Inbox {
 public:
  Inbox() : reader_([this] { read(); }) { reader_.detach(); }

  json next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !waiting_.empty(); });
    json first = std::move(waiting_.front());
    waiting_.pop();
    return first;
  }
  const std::atomic<std::int64_t>& cancelled() const { return cancelled_; }

 private:
  void read() {
    for (std::string line; std::getline(std::cin, line) && line.size() <= kMostLine;) {
      json request = json::parse(line, nullptr, false);
      if (request.is_object() && request.contains("cancel") && request["cancel"].is_number_integer()) {
        cancelled_ = request["cancel"].get<std::int64_t>();
        continue;
      }
      const std::lock_guard lock(mutex_);
      waiting_.push(std::move(request));
      arrived_.notify_one();
    }
    ::_exit(0);
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::queue<json> waiting_;
  std::atomic<std::int64_t> cancelled_ = -1;
  std::thread reader_;  // last: it uses the others
};

}  // namespace

int main() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM}) ::signal(signal, end_by_signal);
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);  // two threads: reading must not write what is being answered
  Meter meter;
  Inbox inbox;
  Requests requests(meter, inbox.cancelled());
  for (;;) {
    const json answer = requests.answer(inbox.next());
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
}
