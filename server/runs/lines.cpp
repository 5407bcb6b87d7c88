#include "server/runs/lines.h"

#include <algorithm>

namespace hotlens::runs {

void LineSplitter::end_line(const Sink& sink) {
  if (!line_.empty()) sink(line_);
  line_.clear();
}

void LineSplitter::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line_.append(bytes.substr(0, std::min(end, kMaxLineBytes - std::min(line_.size(), kMaxLineBytes))));
    if (end == bytes.size()) return;
    end_line(sink);
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::finish(const Sink& sink) {
  end_line(sink);
}

}  // namespace hotlens::runs
