// Events as Chrome's JSON spells them, for the exports that write some.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "annotator/common/error.h"
#include "annotator/trace/trace.h"

namespace hotlens::report {

// Chrome's microseconds, exact to the nanosecond.
std::string microseconds(Ns time);

// Writes events one by one, with the commas between them.
class ChromeEvents {
 public:
  ChromeEvents(std::ostream& out, bool first) : out_(out), first_(first) {}

  void write(std::string_view event);

 private:
  std::ostream& out_;
  bool first_;
};

// These complete events as they were read, and the names of all threads: other arguments are lost.
void write_anew(const trace::Trace& trace, std::span<const std::uint32_t> which, ChromeEvents& events);

// Whether the text of a trace is what was read of it. Where reading had to repair or leave out something, the text itself is no JSON that
// other tools could read.
bool is_whole(const Issues& issues);

}  // namespace hotlens::report
