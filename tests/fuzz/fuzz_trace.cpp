// Any bytes as a trace's text, through the reader alone, in windows of any size: the first byte chooses it. Far more inputs a second than
// through the whole report.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "annotator/trace/read.h"

namespace {

using namespace hotlens;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "promise broken: %s\n", what);
  std::abort();
}

void check(const trace::Trace& trace) {
  const trace::Events& events = trace.events;
  const std::size_t size = events.size();
  for (const std::size_t column : {events.category.size(), events.thread.size(), events.start.size(), events.duration.size(),
                                   events.correlation.size(), events.sequence.size(), events.forward_thread.size(), events.index.size()}) {
    expect(column == size, "columns are equally long");
  }
  expect(std::ranges::adjacent_find(events.index, std::greater_equal{}) == events.index.end(), "events stand in file order");
  Ns sum{};
  for (std::size_t event = 0; event < size; ++event) {
    expect(events.name[event].index < trace.names.size(), "a name is known");
    expect(events.thread[event].index < trace.threads.size(), "a thread is known");
    expect(events.duration[event] >= Ns{}, "no duration is negative");
    expect(events.start[event].count() <= std::numeric_limits<std::int64_t>::max() - events.duration[event].count(), "an end fits");
    sum += events.duration[event];
  }
  expect(sum >= Ns{}, "durations can be summed");
  expect(trace.inputs.shapes.size() == trace.inputs.size() && trace.transfers.bytes.size() == trace.transfers.size(), "rows are whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array<std::size_t, 4> kWindows = {64, 300, 4096, trace::Windows::kUsual};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<trace::Source> source = trace::Source::of(text, "fuzz");
  expect(source.has_value(), "bytes in memory can be opened");
  Issues issues;
  const Result<trace::Trace> trace = trace::read_source(std::move(*source), "fuzz", issues, kWindows.at(data[0] % kWindows.size()));
  if (trace) {
    check(*trace);
  } else {
    expect(!trace.error().message.empty() && !trace.error().where.empty(), "an error says what and where");
  }
  return 0;
}
