// A child process that answers lines: one line in, one line out, each within a time.
//
// It belongs to the thread that started it and ends with it, as every run (run.h). A child that ends, says too much or is late is killed
// with all it has started; that costs the one answer, and whoever asks starts another.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "server/runs/spawn.h"

namespace hotlens::runs {

constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20;

class Conversation {
 public:
  static Result<Conversation> start(const RunRequest& request);
  Conversation(Conversation&& other) noexcept;
  Conversation& operator=(Conversation&& other) noexcept;
  ~Conversation();

  // Gives the next line of the child. The error says how the child ended, or that it was late, and its last words.
  Result<std::string> ask(std::string_view line, std::chrono::milliseconds within);

  bool alive() const { return child_.pid > 0; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  explicit Conversation(Child child) : child_(std::move(child)) {}
  bool wait(Time until, bool writes);  // for something to read or write; false: too late
  void write_some(std::string_view& rest);
  bool read_answer();  // false where the child has closed its end
  void read_words();
  Error late();
  Error ended();
  int end();  // kills and reaps; the status

  Child child_;
  std::string answer_, words_;
};

}  // namespace hotlens::runs
