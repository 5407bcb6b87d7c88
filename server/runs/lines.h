// Bytes of a stream to lines, bounded: a program that never ends its line costs kMaxLineBytes and not more.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace hotlens::runs {

constexpr std::size_t kMaxLineBytes = 64 * 1024;

class LineSplitter {
 public:
  using Sink = std::function<void(std::string_view line)>;

  // \n, \r\n and \r (progress bars) end a line; empty lines are dropped, the rest of an overlong line as well.
  void feed(std::string_view bytes, const Sink& sink);
  void finish(const Sink& sink);  // the last line may have no end

 private:
  void end_line(const Sink& sink);

  std::string line_;
};

}  // namespace hotlens::runs
