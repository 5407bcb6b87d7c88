// `hotlens/timeline/export`: the events of a window, as Perfetto and chrome://tracing read them.
#include <algorithm>
#include <set>

#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using protocol::Answer;
using protocol::Code;
using protocol::Json;
using protocol::RpcError;

constexpr std::size_t kMaxEvents = 200'000;  // about 30 MB of text, what a page can still hand on

// Trace event format: microseconds with decimals.
double microseconds(Ns time) {
  return static_cast<double>(time.count()) / 1000.0;
}

std::string_view category(trace::Category category) {
  switch (category) {
    case trace::Category::cpu_op:
      return "cpu_op";
    case trace::Category::annotation:
      return "user_annotation";
    case trace::Category::device_annotation:
      return "gpu_user_annotation";
    case trace::Category::runtime:
      return "cuda_runtime";
    case trace::Category::driver:
      return "cuda_driver";
    case trace::Category::kernel:
      return "kernel";
    case trace::Category::copy:
      return "gpu_memcpy";
    case trace::Category::fill:
      return "gpu_memset";
    case trace::Category::python:
      return "python_function";
    default:
      return "other";
  }
}

// The events with a part between two moments after `origin`: whatever is asked for, nothing overflows.
Answer events_between(const trace::Trace& trace, Ns origin, Ns from, Ns to, const std::string& name) {
  const trace::Events& events = trace.events;
  Json list = Json::array();
  std::set<std::uint32_t> threads;
  for (std::size_t event = 0; event < events.size(); ++event) {
    if (events.start[event] - origin >= to || events.end(event) - origin <= from) continue;
    if (list.size() >= kMaxEvents) {
      return std::unexpected(RpcError{Code::invalid_params, "more than 200,000 events lie in this window; zoom in and export again"});
    }
    const trace::Thread& thread = trace.threads[events.thread[event].index];
    threads.insert(events.thread[event].index);
    list.push_back({{"ph", "X"},
                    {"name", trace.names[events.name[event]]},
                    {"cat", category(events.category[event])},
                    {"pid", thread.process},
                    {"tid", thread.id},
                    {"ts", microseconds(events.start[event])},
                    {"dur", microseconds(events.duration[event])}});
  }
  for (const std::uint32_t at : threads) {
    const trace::Thread& thread = trace.threads[at];
    if (thread.name.empty()) continue;
    list.push_back({{"ph", "M"}, {"name", "thread_name"}, {"pid", thread.process}, {"tid", thread.id}, {"args", {{"name", thread.name}}}});
  }
  return Json{{"name", name}, {"text", protocol::dump_json({{"traceEvents", std::move(list)}, {"displayTimeUnit", "ms"}})}};
}

Ns moment(const protocol::Reader& params, std::string_view key, Ns otherwise) {
  const auto given = params.maybe(key);
  return given ? Ns(given->integer()) : otherwise;
}

}  // namespace

Answer export_window(const Subject& subject, const protocol::Reader& params) {
  const blocks::Blocks& blocks = *subject.blocks;
  const blocks::Block& step = blocks.blocks[blocks::kStepBlock];
  const Ns from = moment(params, "from", step.first), to = moment(params, "to", step.last);
  if (auto error = params.error()) return std::unexpected(*error);
  const std::string name = "hotlens-step-" + std::to_string(subject.opened->profile().steps[subject.step].index) + ".json";
  return events_between(blocks.annotated->trace, blocks.start, from, to, name);
}

Answer export_of_recording(const Opened& opened, const protocol::Reader& params) {
  const features::Recording& recording = opened.recording();
  const Ns from = moment(params, "from", Ns{}), to = moment(params, "to", recording.length);
  if (auto error = params.error()) return std::unexpected(*error);
  return events_between(opened.annotated().trace, recording.start, from, to, "hotlens-recording.json");
}

}  // namespace hotlens::timeline_requests
