#include "annotator/report/export/chrome_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "annotator/common/json_text.h"

namespace hotlens::report {
namespace {

std::string_view text_of(trace::Category category) {
  using trace::Category;
  switch (category) {
    case Category::cpu_op:
      return "cpu_op";
    case Category::annotation:
      return "user_annotation";
    case Category::device_annotation:
      return "gpu_user_annotation";
    case Category::runtime:
      return "cuda_runtime";
    case Category::driver:
      return "cuda_driver";
    case Category::kernel:
      return "kernel";
    case Category::copy:
      return "gpu_memcpy";
    case Category::fill:
      return "gpu_memset";
    case Category::python:
      return "python_function";
    case Category::memory:
      return "cpu_instant_event";
    case Category::overhead:
      return "overhead";
    case Category::sync:
      return "cuda_sync";
    case Category::other:
      return "other";
  }
  return "other";
}

}  // namespace

// Chrome's microseconds, exact to the nanosecond.
std::string microseconds(Ns time) {
  const std::int64_t whole = time.count() / 1000;
  const std::int64_t rest = std::abs(time.count() % 1000);
  return fmt::format("{}{}.{:03}", time < Ns{} && whole == 0 ? "-" : "", whole, rest);
}

void ChromeEvents::write(std::string_view event) {
  out_ << (first_ ? "\n" : ",\n") << event;
  first_ = false;
}

void write_anew(const trace::Trace& trace, std::span<const std::uint32_t> which, ChromeEvents& events) {
  for (const trace::Thread& thread : trace.threads) {
    if (thread.name.empty()) continue;
    events.write(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", json_string(thread.process),
                             json_string(thread.id), json_string(thread.name)));
  }
  const trace::Events& read = trace.events;
  for (const std::uint32_t at : which) {
    const trace::Thread& thread = trace.threads[read.thread[at].index];
    std::string arguments;
    const auto add = [&](std::string_view key, std::int64_t value) {
      arguments += fmt::format(R"({}"{}":{})", arguments.empty() ? "" : ",", key, value);
    };
    if (read.correlation[at] != trace::kNone) add("correlation", read.correlation[at]);
    if (read.sequence[at] != trace::kNone) add("Sequence number", read.sequence[at]);
    if (read.forward_thread[at] > 0) add("Fwd thread id", read.forward_thread[at]);
    events.write(fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                             text_of(read.category[at]), json_string(trace.names[read.name[at]]), json_string(thread.process),
                             json_string(thread.id), microseconds(read.start[at]), microseconds(read.duration[at]), arguments));
  }
}

bool is_whole(const Issues& issues) {
  constexpr std::array<std::string_view, 7> kDamage = {"broken-event",     "repaired-event",     "truncated-trace", "truncated-gzip",
                                                       "damaged-metadata", "truncated-metadata", "unreadable-rest"};
  return std::ranges::none_of(issues.items(), [&](const Issue& issue) { return std::ranges::find(kDamage, issue.code) != kDamage.end(); });
}

}  // namespace hotlens::report
