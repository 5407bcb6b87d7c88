// Any bytes as a trace file, through all of `hotlens report`: text, JSON and events. Beyond what sanitizers find it holds the promises of
// a report.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "annotator/profile/build/load.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "tests/fuzz/promises.h"

namespace {

using namespace hotlens;

void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "promise broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  expect(file.put({reinterpret_cast<const char*>(data), size}), "the fuzzer's own file is written");
  const auto loaded = profile::load(file.path());
  if (!loaded) {
    expect(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return 0;
  }
  const std::optional<std::string> broken = fuzz::broken_promise(**loaded);
  expect(!broken, broken.value_or(""));
  expect(!report::report_text(**loaded, {.unfold = true}).empty(), "a report has text");
  expect(!report::report_json(**loaded).empty(), "a report has JSON");
  std::ostringstream events;
  expect(report::report_events(file.path(), events).has_value(), "what loads has events to report");
  return 0;
}
