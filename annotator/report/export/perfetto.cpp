#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>

#include "annotator/causes/critical_path.h"
#include "annotator/common/json_text.h"
#include "annotator/profile/build/module_name.h"
#include "annotator/profile/build/spans.h"
#include "annotator/report/export/chrome_events.h"
#include "annotator/report/export/perfetto.h"
#include "annotator/trace/source.h"

namespace hotlens::report {
namespace {

using Layer = profile::Frame::Layer;

// The length of a span between its edges as Perfetto's trace processor reads them: it keeps microseconds as a double and makes whole
// nanoseconds of that. Above 2^42 µs digits are lost; with a length that kept them, spans that touch would overlap, and it drops those.
Ns seen_length(std::string_view start, std::string_view end) {
  const auto seen = [](std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value == std::trunc(value) ? Ns{static_cast<std::int64_t>(value) * 1000} : Ns{std::llround(value * 1000)};
  };
  return seen(end) - seen(start);
}

// The tracks of the process "Hotlens".
class Added {
 public:
  Added(const profile::Annotated& annotated, ChromeEvents& events)
      : annotated_(annotated), events_(events), process_(free_process(annotated.trace)) {
    for (const profile::ModuleName& module : profile::names_of_modules(annotated)) {
      const std::string_view last = profile::last_name(module.path, annotated.how);
      shown_.push_back(json_string(last.empty() ? module.class_name : last));
      arguments_.push_back(fmt::format(R"("path":{},"class":{})", json_string(module.path), json_string(module.class_name)));
    }
  }

  void write() {
    events_.write(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"Hotlens"}}}})", process_));
    events_.write(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":-1}}}})", process_));
    steps();
    const std::vector<profile::Track> tracks = profile::tracks_of(annotated_);
    stages(tracks.front());
    buckets();
    critical_path();
    for (const profile::Track& track : tracks) modules(track);
  }

 private:
  static std::int64_t free_process(const trace::Trace& trace) {
    constexpr std::int64_t kFirst = 1'000'000'000;  // above process ids and device numbers
    std::int64_t process = kFirst;
    while (std::ranges::any_of(trace.threads, [&](const trace::Thread& thread) { return thread.process == std::to_string(process); }))
      ++process;
    return process;
  }

  void begin_track(std::string_view name) {
    ++track_;
    events_.write(
        fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process_, track_, json_string(name)));
    events_.write(
        fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process_, track_, track_));
  }

  void span(std::string_view quoted_name, Ns start, Ns end, std::string_view arguments) {
    const std::string from = microseconds(start);
    const Ns length = seen_length(from, microseconds(end));
    events_.write(fmt::format(R"({{"ph":"X","cat":"hotlens","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", quoted_name,
                              process_, track_, from, microseconds(length), arguments));
  }

  void steps() {
    begin_track("steps");
    for (const attribution::StepAccount& step : annotated_.account.steps) {
      span(json_string("step " + std::to_string(step.span.index)), step.span.start, step.span.end, "");
    }
  }

  void stages(const profile::Track& main) {
    begin_track("stages");
    for (const profile::Span& each : main.spans) {
      if (each.frame.layer == Layer::stage)
        span(json_string(name(static_cast<attribution::Stage>(each.frame.id))), each.start, each.end, "");
    }
  }

  void buckets() {
    begin_track("buckets");
    for (const attribution::StepAccount& step : annotated_.account.steps) {
      for (std::size_t at = 0; at < step.wall.size();) {
        std::size_t next = at + 1;
        while (next < step.wall.size() && step.wall[next].bucket == step.wall[at].bucket) ++next;
        span(json_string(name(step.wall[at].bucket)), step.wall[at].start, step.wall[next - 1].end, "");
        at = next;
      }
    }
  }

  // Only of a run with device work: else it is the main thread.
  void critical_path() {
    if (annotated_.account.work.empty()) return;
    begin_track("critical path");
    for (const causes::PathPart& part : causes::critical_path_of_all(annotated_.account)) {
      const std::string_view what = causes::name_of(part, annotated_.trace, annotated_.forest, annotated_.account);
      span(json_string(what.empty() ? "no operator" : what), part.start, part.end, fmt::format(R"("on":"{}")", causes::word(part.on)));
    }
  }

  void modules(const profile::Track& track) {
    const trace::Thread thread = track.thread.valid() ? annotated_.trace.threads[track.thread.index] : trace::Thread{};
    std::string where = thread.name.empty() ? (track.device ? "stream " : "thread ") + thread.id : thread.name;
    if (track.device) where += ", device " + thread.process;
    for (const bool backward : {false, true}) {
      bool begun = false;
      for (const profile::Span& each : track.spans) {
        const bool wanted = each.frame.layer == Layer::module && (each.frame.direction != attribution::Direction::forward) == backward;
        if (!wanted || each.frame.id >= shown_.size()) continue;
        if (!begun) begin_track(std::string(backward ? "modules backward, " : "modules forward, ") + where);
        begun = true;
        span(shown_[each.frame.id], each.start, each.end,
             arguments_[each.frame.id] + fmt::format(R"(,"direction":"{}")", name(each.frame.direction)));
      }
    }
  }

  const profile::Annotated& annotated_;
  ChromeEvents& events_;
  std::int64_t process_;
  int track_ = 0;
  std::vector<std::string> shown_, arguments_;  // by module, as JSON
};

// Copies at most `most` bytes and returns how many there were.
Result<std::size_t> copy(trace::Source& source, std::size_t most, std::ostream& out) {
  constexpr std::size_t kPart = std::size_t{1} << 20;  // bytes in memory at a time
  std::string part(std::min(kPart, most), '\0');
  for (std::size_t copied = 0;;) {
    const std::size_t wanted = std::min(part.size(), most - copied);
    const Result<std::size_t> got = source.read({part.data(), wanted});
    if (!got) return got;
    out << std::string_view(part).substr(0, *got);
    copied += *got;
    if (*got < wanted || copied == most) return copied;
  }
}

// The text of the trace as it is, with the tracks at the end of its list of events.
Result<void> copy_with_tracks(const profile::Annotated& annotated, const trace::ListEnd& list, const std::filesystem::path& path,
                              std::ostream& out) {
  Result<trace::Source> source = trace::Source::open(path);
  if (!source) return std::unexpected(source.error());
  const Result<std::size_t> front = copy(*source, list.at, out);
  if (!front) return std::unexpected(front.error());
  char bracket = '\0';
  const Result<std::size_t> got = source->read({&bracket, 1});
  if (!got) return std::unexpected(got.error());
  if (bracket != ']') {
    return std::unexpected(Error{ErrorCode::malformed, "the trace was changed while it was read; export it again", path.string()});
  }
  ChromeEvents events(out, list.empty);
  Added(annotated, events).write();
  out << "\n]";
  const Result<std::size_t> rest = copy(*source, std::numeric_limits<std::size_t>::max(), out);
  if (!rest) return std::unexpected(rest.error());
  return {};
}

}  // namespace

Result<void> export_perfetto(const profile::Annotated& annotated, std::ostream& out) {
  const std::filesystem::path& path = annotated.trace_file;
  std::error_code status;  // a pipe cannot be read twice
  const std::optional<trace::ListEnd>& list = annotated.trace.list_end;
  if (list && is_whole(annotated.issues) && std::filesystem::is_regular_file(path, status)) {
    return copy_with_tracks(annotated, *list, path, out);
  }
  out << fmt::format(R"({{"schemaVersion":1,"baseTimeNanoseconds":{},"traceEvents":[)", annotated.trace.base.count());
  ChromeEvents events(out, true);
  std::vector<std::uint32_t> all(annotated.trace.events.size());
  std::iota(all.begin(), all.end(), 0U);
  write_anew(annotated.trace, all, events);
  Added(annotated, events).write();
  out << "\n]}\n";
  return {};
}

}  // namespace hotlens::report
