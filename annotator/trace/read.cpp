// The root of a trace: what stands around the list of events, in any order.
#include "annotator/trace/read.h"

#include <algorithm>
#include <string>
#include <utility>

#include "annotator/trace/decimal.h"
#include "annotator/trace/event_list.h"
#include "annotator/trace/facts.h"
#include "annotator/trace/plausible.h"
#include "annotator/trace/scan.h"

namespace hotlens::trace {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Error unusable(std::string_view where, std::string message) {
  return {ErrorCode::malformed, std::move(message), std::string(where)};
}

class Reader {
 public:
  Reader(Source& source, Issues& issues, std::size_t window, MemoryBudget budget)
      : source_(source), issues_(issues), text_(source, window, budget), events_(trace_, issues, source.expected()) {}

  Result<Trace> read(std::string_view where) {
    const bool object = open();
    while (object && read_member()) continue;
    events_.finish();
    leave_out_implausible(trace_, issues_);
    trace_.json_bytes = text_.total();
    if (const std::optional<Error> error = fault(where)) return std::unexpected(*error);
    return std::move(trace_);
  }

 private:
  // The position that `find` gives in the text from its front on, loading more of it as long as there is none.
  template <class Find>
  std::size_t find(Find find) {
    for (;;) {
      const std::size_t at = find(text_.rest());
      if (at != kNowhere) return at;
      if (!text_.more()) return kNowhere;
    }
  }

  // The next character that is none of `these`, at the front; '\0' at the end of the text.
  char skip(std::string_view these) {
    for (;;) {
      text_.consume(std::min(text_.rest().find_first_not_of(these), text_.rest().size()));
      if (!text_.rest().empty()) return text_.rest().front();
      if (!text_.more()) return '\0';
    }
  }

  // Consumes the root's opening bracket, and all of a root that is a list. Whether members follow.
  bool open() {
    find([](std::string_view text) { return text.size() >= kByteOrderMark.size() ? 0 : kNowhere; });
    if (text_.rest().starts_with(kByteOrderMark)) text_.consume(kByteOrderMark.size());
    const char first = skip(kSpace);
    started_ = first != '\0';
    if (first == '[') {
      trace_.recording.legacy = true;
      text_.consume(1);
      read_list();
      return false;
    }
    if (first == '{') {
      text_.consume(1);
      return true;
    }
    return started_ && seek_list();
  }

  // Reads one member of the root object. Whether more may follow.
  bool read_member() {
    const char first = skip(" \t\r\n,");
    if (first == '}') {
      complete_ = true;
      return false;
    }
    if (first == '\0') return false;
    if (first != '"') return seek_list();
    const std::size_t key_end = find([](std::string_view text) { return end_of_string(text, 0); });
    if (key_end == kNowhere) return seek_list();
    const std::string key(text_.rest().substr(1, key_end - 2));
    text_.consume(key_end);
    if (skip(kSpace) != ':') return seek_list();
    text_.consume(1);
    if (skip(kSpace) == '[' && key == "traceEvents") {
      text_.consume(1);
      return read_list();
    }
    const std::size_t value_end = find([](std::string_view text) { return end_of_value(text, 0); });
    if (value_end == kNowhere) return seek_list();
    if (is_fact(key)) keep_fact(key, text_.rest().substr(0, value_end), trace_);
    text_.consume(value_end);
    return true;
  }

  // Whether the list ended, so that members may follow.
  bool read_list() {
    listed_ = true;
    const std::uint32_t before = events_.seen();
    EventList list(text_, events_, issues_);
    closed_ = list.read();
    if (list.end()) trace_.list_end = {*list.end(), events_.seen() == before};
    if (closed_) return true;
    issues_.add("truncated-trace",
                "the trace breaks off at byte " + std::to_string(text_.total()) + "; every whole event before that was kept");
    return false;
  }

  // The members are damaged here: looks for a list further on, as text. The time base is taken along, for it is needed most.
  bool seek_list() {
    constexpr std::string_view kList = "\"traceEvents\"";
    constexpr std::size_t kOverlap = 256;  // bytes that what is looked for may take
    if (listed_) {
      issues_.add("damaged-metadata", "what stands behind the events in the trace is damaged; the events were read");
    }
    for (;;) {
      const std::string_view text = text_.rest();
      keep_base(text);
      for (std::size_t key = text.find(kList); key != kNowhere; key = text.find(kList, key + 1)) {
        const std::size_t colon = skip_space(text, key + kList.size());
        const std::size_t open = skip_space(text, std::min(colon + 1, text.size()));
        if (colon >= text.size() || text[colon] != ':' || open >= text.size() || text[open] != '[') continue;
        if (!listed_) issues_.add("damaged-metadata", "what stands before the events in the trace is damaged; the events were read");
        text_.consume(open + 1);
        return read_list();
      }
      text_.consume(text.size() - std::min(text.size(), kOverlap));
      if (!text_.more()) return false;
    }
  }

  void keep_base(std::string_view text) {
    constexpr std::string_view kBase = "\"baseTimeNanoseconds\"";
    const std::size_t key = text.find(kBase);
    if (key == kNowhere) return;
    const std::size_t value = text.find_first_of("0123456789", key + kBase.size());
    if (value == kNowhere) return;
    const std::size_t end = text.find_first_not_of("0123456789", value);
    if (end != kNowhere) keep_fact("baseTimeNanoseconds", text.substr(value, end - value), trace_);
  }

  // A part of it would still be more than what is made of it has room for.
  Error too_much(std::string_view where) const {
    const std::string read = std::to_string(trace_.events.size()) + " events in " + std::to_string(text_.total() / 1'000'000) + " MB";
    return {ErrorCode::unreadable,
            "the trace is too large for the memory that is left: it was given up after " + read +
                "; record fewer steps, or open it on a machine with more",
            std::string(where)};
  }

  // Why there is no trace, where there is none; otherwise adds what was lost to the issues.
  std::optional<Error> fault(std::string_view where) {
    if (text_.exhausted()) return too_much(where);
    const bool any = trace_.events.size() + trace_.memory.size() > 0;
    if (text_.error() && !any) return text_.error();
    if (source_.damaged() && text_.total() == 0) {
      return unusable(where, "the gzip data is damaged from its first byte; copy the file again");
    }
    if (!started_) return unusable(where, "the file is empty; record the trace again");
    if (!listed_ && complete_) {
      return unusable(where, "this JSON has no traceEvents: it is not a profiler trace; give a *.pt.trace.json file");
    }
    if (!listed_ || (!any && !closed_)) {
      return unusable(where, "this is not a readable profiler trace, and no whole event was found in its " + std::to_string(text_.total()) +
                                 " bytes; record it again");
    }
    if (text_.error()) issues_.add("unreadable-rest", "the file could not be read to its end: " + text_.error()->message);
    if (source_.damaged()) {
      issues_.add("truncated-gzip", "the compressed file is cut short or damaged; what could be inflated was read");
    }
    if (closed_ && !complete_ && !trace_.recording.legacy) {
      issues_.add("truncated-metadata", "the trace breaks off behind its events; what stood there is not known");
    }
    return std::nullopt;
  }

  Source& source_;
  Issues& issues_;
  Trace trace_;
  Windows text_;
  EventReader events_;
  bool started_ = false;   // there is text
  bool listed_ = false;    // a list of events was seen
  bool closed_ = false;    // to its end
  bool complete_ = false;  // the root object was closed
};

}  // namespace

Result<Trace> read_source(Source source, std::string_view where, Issues& issues, std::size_t window, MemoryBudget budget) {
  return Reader(source, issues, window, budget).read(where);
}

Result<Trace> read_bytes(std::string_view bytes, std::string_view where, Issues& issues) {
  Result<Source> source = Source::of(bytes, where);
  if (!source) return std::unexpected(source.error());
  return read_source(std::move(*source), where, issues);
}

Result<Trace> read_file(const std::filesystem::path& path, Issues& issues) {
  Result<Source> source = Source::open(path);
  if (!source) return std::unexpected(source.error());
  return read_source(std::move(*source), path.string(), issues);
}

}  // namespace hotlens::trace
