#include "annotator/trace/facts.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string>

#include "annotator/trace/decimal.h"
#include "annotator/trace/text.h"

namespace hotlens::trace {
namespace {

namespace dom = simdjson::dom;

struct NamedFact {
  std::string_view key;
  void (*keep)(std::string_view value, Trace& trace);
};

// A number as written, or in quotes.
std::optional<std::int64_t> whole(dom::element value) {
  std::int64_t number = 0;
  if (!value.get(number)) return number;
  std::string_view text;
  return value.get(text) ? std::nullopt : integer(text);
}

std::optional<std::int64_t> whole(dom::object object, std::string_view key) {
  dom::element value;
  return object.at_key(key).get(value) ? std::nullopt : whole(value);
}

std::string text(dom::object object, std::string_view key) {
  std::string_view value;
  return object.at_key(key).get(value) ? std::string() : std::string(value);
}

bool is_set(std::string_view value) {
  return bare(value) == "true" || integer(value).value_or(0) != 0;
}

void keep_devices(std::string_view value, Trace& trace) {
  dom::parser parser;
  dom::array devices;
  if (parser.parse(simdjson::padded_string(value)).get(devices)) return;
  for (const dom::element element : devices) {
    dom::object device;
    if (element.get(device)) continue;
    trace.devices.push_back({.id = whole(device, "id").value_or(0),
                             .name = text(device, "name"),
                             .memory_bytes = whole(device, "totalGlobalMem").value_or(0),
                             .compute_capability = whole(device, "computeMajor").value_or(0)});
  }
}

void keep_distributed(std::string_view value, Trace& trace) {
  dom::parser parser;
  dom::object info;
  const std::string json = value.starts_with('"') ? unescaped(value) : std::string(value);
  if (parser.parse(simdjson::padded_string(json)).get(info)) return;
  trace.recording.rank = whole(info, "rank");
  trace.recording.world_size = whole(info, "world_size");
  trace.recording.backend = text(info, "backend");
}

template <bool Recording::* flag>
void keep_flag(std::string_view value, Trace& trace) {
  trace.recording.*flag = is_set(value);
}

template <std::optional<std::int64_t> Recording::* version>
void keep_version(std::string_view value, Trace& trace) {
  trace.recording.*version = integer(value);
}

void keep_base(std::string_view value, Trace& trace) {
  trace.base = Ns{integer(value).value_or(0)};
}

constexpr std::array kFacts = std::to_array<NamedFact>({
    {"deviceProperties", keep_devices},
    {"baseTimeNanoseconds", keep_base},
    {"distributedInfo", keep_distributed},
    {"record_shapes", keep_flag<&Recording::record_shapes>},
    {"with_stack", keep_flag<&Recording::with_stack>},
    {"with_modules", keep_flag<&Recording::with_modules>},
    {"with_flops", keep_flag<&Recording::with_flops>},
    {"profile_memory", keep_flag<&Recording::profile_memory>},
    {"cuda_runtime_version", keep_version<&Recording::cuda_runtime>},
    {"cuda_driver_version", keep_version<&Recording::cuda_driver>},
    {"cupti_version", keep_version<&Recording::cupti>},
    {"hip_runtime_version", keep_version<&Recording::hip_runtime>},
    {"hip_driver_version", keep_version<&Recording::hip_driver>},
    {"roctracer_version", keep_version<&Recording::roctracer>},
});

auto named(std::string_view key) {
  return std::ranges::find(kFacts, key, &NamedFact::key);
}

}  // namespace

bool is_fact(std::string_view key) {
  return named(key) != kFacts.end();
}

void keep_fact(std::string_view key, std::string_view value, Trace& trace) {
  const auto fact = named(key);
  if (fact == kFacts.end()) return;
  fact->keep(value, trace);
  trace.hip = trace.recording.hip_runtime || trace.recording.roctracer;
}

}  // namespace hotlens::trace
