// The elements of traceEvents, from the window on a text into the columns.
//
// The plain path parses all of a window up to its last boundary between objects at once. Where that fails, smaller parts are tried, then
// single elements; strings in those are repaired once, and what stays unreadable is counted. A file with faults is read nearly as fast as
// one without, and a fault costs only its own event. Cost: linear in the text, whatever it holds. Parts shrink where faults are dense, and
// looking ahead for the end of a damaged element has a budget for the whole text; when that is spent, only the near text is looked at.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>

#include "annotator/trace/event_reader.h"
#include "annotator/trace/windows.h"

namespace hotlens::trace {

class EventList {
 public:
  EventList(Windows& text, EventReader& reader, Issues& issues) : text_(text), reader_(reader), issues_(issues) {}

  // From behind the list's opening bracket to behind its closing one. False where the text ends before that.
  bool read();

  // Where its closing bracket stands, in bytes from the start of the text; nothing where that is not sure.
  std::optional<std::size_t> end() const { return end_; }

 private:
  enum class Parsed { whole, until_fault, nothing };
  enum class Bracket { closes, stray };

  Parsed parse(std::size_t cut);
  bool read_one();
  bool skip_near();
  std::size_t patience() const;
  std::string place() const;
  bool read_until(std::size_t end);
  bool keep(std::string_view piece);
  void keep_or_count(std::string_view piece);
  Bracket bracket();
  bool more();

  Windows& text_;
  EventReader& reader_;
  Issues& issues_;
  simdjson::ondemand::parser many_, one_;
  std::size_t limit_ = std::string_view::npos;  // of a part, in this window
  std::size_t looked_ = 0;                      // bytes that were looked at to find ends of single elements
  std::optional<std::size_t> end_;
  bool phase_first_ = false;
};

}  // namespace hotlens::trace
