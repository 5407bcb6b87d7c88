#include "annotator/trace/event_reader.h"

#include <algorithm>
#include <utility>

#include "annotator/trace/category.h"
#include "annotator/trace/decimal.h"
#include "annotator/trace/text.h"

namespace hotlens::trace {
namespace {

using simdjson::error_code;
using simdjson::SUCCESS;

// True when the key, still in the file's bytes, is `text`.
bool is(simdjson::ondemand::raw_json_string key, std::string_view text) {
  const char* at = key.raw();
  return std::string_view(at, text.size()) == text && at[text.size()] == '"';
}

std::int64_t number(simdjson::ondemand::value value) {
  return integer(value.raw_json_token()).value_or(kNone);
}

// The text of an array as written; empty for any other value.
std::string_view array_text(simdjson::ondemand::value value) {
  simdjson::ondemand::array array;
  std::string_view text;
  if (value.get_array().get(array) || array.raw_json().get(text)) return {};
  return text;
}

template <class Narrow>
Narrow narrowed(std::int64_t value) {
  return static_cast<Narrow>(std::clamp<std::int64_t>(value, std::numeric_limits<Narrow>::min(), std::numeric_limits<Narrow>::max()));
}

// Of the shared traces, 260 to 500; of arrays of the legacy profiler, 120. Memory that is reserved and not touched costs nothing, while
// growing a column copies it.
constexpr std::size_t kBytesPerEvent = 128;
constexpr std::size_t kMostReserved = std::size_t{1} << 24;  // events; sizes of files may be made up

}  // namespace

std::optional<std::size_t> row_of(const std::vector<std::uint32_t>& events, std::uint32_t event) {
  const auto at = std::ranges::lower_bound(events, event);
  if (at == events.end() || *at != event) return std::nullopt;
  return static_cast<std::size_t>(at - events.begin());
}

EventReader::EventReader(Trace& trace, Issues& issues, std::size_t bytes) : trace_(trace), issues_(issues) {
  const std::size_t expected = std::min(bytes / kBytesPerEvent, kMostReserved);
  Events& events = trace.events;
  events.name.reserve(expected);
  events.category.reserve(expected);
  events.thread.reserve(expected);
  events.start.reserve(expected);
  events.duration.reserve(expected);
  events.correlation.reserve(expected);
  events.sequence.reserve(expected);
  events.forward_thread.reserve(expected);
  events.index.reserve(expected);
}

// The arguments that some kind of event is asked for.
struct EventReader::Arguments {
  std::int64_t correlation = kNone;
  std::int64_t sequence = kNone;
  std::int64_t forward_thread = 0;
  std::int64_t bytes = kNone;
  bool allocates = false;  // has what only a memory event has
  std::int64_t address = kNone, device_type = kNone, device = kNone, allocated = kNone, reserved = kNone;
  std::string_view shapes, types, values;  // arrays as written
  std::string_view name, labels;           // of metadata records
};

// The fields of one event as they stand in the file.
struct EventReader::Raw {
  char phase = 0;
  std::string_view name, category, process, thread, start, duration, id;
  Arguments arguments;
};

error_code EventReader::read(simdjson::ondemand::object object) {
  Raw raw;
  if (const error_code error = read_fields(object, raw)) return error;
  switch (raw.phase) {
    case 'X':
      keep(raw);
      break;
    case 'i':
      keep_memory(raw);
      break;
    case 's':
    case 'f':
      keep_flow(raw);
      break;
    case 'M':
      keep_metadata(raw);
      break;
    default:
      break;
  }
  ++next_index_;
  return SUCCESS;
}

error_code EventReader::read_fields(simdjson::ondemand::object object, Raw& raw) {
  for (auto next : object) {
    simdjson::ondemand::field field;
    if (const error_code error = std::move(next).get(field)) return error;
    const simdjson::ondemand::raw_json_string key = field.key();
    simdjson::ondemand::value value = field.value();
    if (is(key, "args")) {
      if (const error_code error = read_arguments(value, raw.arguments)) return error;
      continue;
    }
    const std::string_view token = value.raw_json_token();
    switch (key.raw()[0]) {
      case 'p':
        if (is(key, "ph")) raw.phase = token.size() > 2 ? token[1] : '\0';
        if (is(key, "pid")) raw.process = token;
        break;
      case 'c':
        if (is(key, "cat")) raw.category = token;
        break;
      case 'n':
        if (is(key, "name")) raw.name = token;
        break;
      case 't':
        if (is(key, "tid")) raw.thread = token;
        if (is(key, "ts")) raw.start = token;
        break;
      case 'd':
        if (is(key, "dur")) raw.duration = token;
        break;
      case 'i':
        if (is(key, "id")) raw.id = token;
        break;
      default:
        break;
    }
  }
  return SUCCESS;
}

error_code EventReader::read_arguments(simdjson::ondemand::value value, Arguments& arguments) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) return SUCCESS;  // not an object: nothing in it for us
  for (auto next : object) {
    simdjson::ondemand::field field;
    if (const error_code error = std::move(next).get(field)) return error;
    const simdjson::ondemand::raw_json_string key = field.key();
    switch (key.raw()[0]) {
      case 'c':
        if (is(key, "correlation")) arguments.correlation = number(field.value());
        break;
      case 'S':
        if (is(key, "Sequence number")) arguments.sequence = number(field.value());
        break;
      case 'F':
        if (is(key, "Fwd thread id")) arguments.forward_thread = number(field.value());
        break;
      case 'I':
        if (is(key, "Input Dims") || is(key, "Input dims")) arguments.shapes = array_text(field.value());
        if (is(key, "Input type")) arguments.types = array_text(field.value());
        break;
      case 'C':
        if (is(key, "Concrete Inputs")) arguments.values = array_text(field.value());
        break;
      case 'b':
        if (is(key, "bytes")) arguments.bytes = number(field.value());
        break;
      case 'B':
        if (is(key, "Bytes")) {
          arguments.bytes = number(field.value());
          arguments.allocates = true;
        }
        break;
      case 'A':
        if (is(key, "Addr")) arguments.address = number(field.value());
        break;
      case 'D':
        if (is(key, "Device Type")) arguments.device_type = number(field.value());
        if (is(key, "Device Id")) arguments.device = number(field.value());
        break;
      case 'T':
        if (is(key, "Total Allocated")) arguments.allocated = number(field.value());
        if (is(key, "Total Reserved")) arguments.reserved = number(field.value());
        break;
      case 'n':
        if (is(key, "name")) arguments.name = field.value().raw_json_token();
        break;
      case 'l':
        if (is(key, "labels")) arguments.labels = field.value().raw_json_token();
        break;
      default:
        break;
    }
  }
  return SUCCESS;
}

void EventReader::keep(const Raw& raw) {
  // The Python writer gives instants a duration of 0.
  if (raw.arguments.allocates && bare(raw.name).starts_with('[')) return keep_memory(raw);
  const std::optional<Ns> start = microseconds(raw.start);
  const std::optional<Ns> duration = raw.duration.empty() ? Ns{} : microseconds(raw.duration);
  if (!start || !duration || raw.name.empty()) {
    issues_.add("unusable-event", "an event has no name or no usable time and was left out");
    return;
  }
  if (*duration < Ns{}) issues_.add("negative-duration", "an event ends before it starts; its duration counts as 0");
  const NameId name = name_of(raw.name);
  Category category = category_of(raw);
  if (category == Category::cpu_op && is_range(raw, name)) category = Category::annotation;
  Events& events = trace_.events;
  keep_sides(static_cast<std::uint32_t>(events.size()), category, raw.arguments);
  events.name.push_back(name);
  events.category.push_back(category);
  events.thread.push_back(thread_of(raw.process, raw.thread));
  events.start.push_back(*start);
  events.duration.push_back(std::max(*duration, Ns{}));
  events.correlation.push_back(raw.arguments.correlation);
  events.sequence.push_back(raw.arguments.sequence);
  events.forward_thread.push_back(narrowed<std::int32_t>(std::max<std::int64_t>(raw.arguments.forward_thread, 0)));
  events.index.push_back(next_index_);
}

void EventReader::keep_sides(std::uint32_t event, Category category, const Arguments& arguments) {
  if (category == Category::cpu_op) {
    sequenced_ |= arguments.forward_thread > 0 && arguments.sequence >= 0;
    if (arguments.shapes.empty()) return;
    const auto kept = [&](std::string_view text) { return text.empty() ? NameId{} : trace_.inputs_text.intern(text); };
    trace_.inputs.event.push_back(event);
    trace_.inputs.shapes.push_back(kept(arguments.shapes));
    trace_.inputs.types.push_back(kept(arguments.types));
    trace_.inputs.values.push_back(kept(arguments.values));
  } else if (on_device(category)) {
    correlated_ |= arguments.correlation > 0;
    if (category == Category::kernel || arguments.bytes < 0) return;
    trace_.transfers.event.push_back(event);
    trace_.transfers.bytes.push_back(arguments.bytes);
  }
}

void EventReader::keep_memory(const Raw& raw) {
  const std::string_view name = bare(raw.name);
  if (name == "[OutOfMemory]") {
    issues_.add("out-of-memory", "an allocation failed for lack of memory while the trace was recorded");
    return;
  }
  if (name != "[memory]") return;
  const Arguments& arguments = raw.arguments;
  const std::optional<Ns> time = microseconds(raw.start);
  if (!time || !arguments.allocates) {
    issues_.add("unusable-event", "an event has no name or no usable time and was left out");
    return;
  }
  MemoryEvents& memory = trace_.memory;
  memory.thread.push_back(thread_of(raw.process, raw.thread));
  memory.time.push_back(*time);
  memory.address.push_back(arguments.address);
  memory.bytes.push_back(arguments.bytes);
  memory.device_type.push_back(narrowed<std::int8_t>(arguments.device_type));
  memory.device.push_back(narrowed<std::int32_t>(arguments.device));
  memory.total_allocated.push_back(arguments.allocated);
  memory.total_reserved.push_back(arguments.reserved);
}

void EventReader::keep_flow(const Raw& raw) {
  if (correlated_ && sequenced_) return;
  const std::optional<Flows::Kind> kind = flow_named(bare(raw.category));
  if (!kind || (*kind == Flows::Kind::launch ? correlated_ : sequenced_)) return;
  const std::optional<Ns> time = microseconds(raw.start);
  const std::optional<std::int64_t> id = integer(raw.id);
  if (!time || !id) {
    issues_.add("unusable-flow", "an arrow between events has no usable time or number and was left out");
    return;
  }
  Flows& flows = trace_.flows;
  flows.id.push_back(*id);
  flows.kind.push_back(*kind);
  flows.end.push_back(raw.phase == 's' ? Flows::End::start : Flows::End::finish);
  flows.thread.push_back(thread_of(raw.process, raw.thread));
  flows.time.push_back(*time);
}

void EventReader::finish() {
  Flows& flows = trace_.flows;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < flows.size(); ++row) {
    if (flows.kind[row] == Flows::Kind::launch ? correlated_ : sequenced_) continue;
    flows.id[kept] = flows.id[row];
    flows.kind[kept] = flows.kind[row];
    flows.end[kept] = flows.end[row];
    flows.thread[kept] = flows.thread[row];
    flows.time[kept] = flows.time[row];
    ++kept;
  }
  flows.id.resize(kept);
  flows.kind.resize(kept);
  flows.end.resize(kept);
  flows.thread.resize(kept);
  flows.time.resize(kept);
}

void EventReader::keep_metadata(const Raw& raw) {
  const std::string_view what = bare(raw.name);
  if (what == "thread_name" && !raw.arguments.name.empty()) {
    trace_.threads[thread_of(raw.process, raw.thread).index].name = unescaped(raw.arguments.name);
  } else if (what == "process_name" && !raw.arguments.name.empty()) {
    trace_.processes[process_of(bare(raw.process)).index].name = unescaped(raw.arguments.name);
  } else if (what == "process_labels" && !raw.arguments.labels.empty()) {
    trace_.processes[process_of(bare(raw.process)).index].labels = unescaped(raw.arguments.labels);
  }
}

ProcessId EventReader::process_of(std::string_view process) {
  const NameId token = tokens_.intern(process);
  const auto [known, fresh] = process_by_token_.try_emplace(token.index, ProcessId{static_cast<std::uint32_t>(trace_.processes.size())});
  if (fresh) trace_.processes.push_back({.id = unescaped(process), .name = {}, .labels = {}});
  return known->second;
}

ThreadId EventReader::thread_of(std::string_view process, std::string_view thread) {
  process = bare(process);
  thread = bare(thread);
  if (last_.valid() && process == last_process_ && thread == last_thread_) return last_;
  const NameId process_token = tokens_.intern(process);
  const NameId thread_token = tokens_.intern(thread);
  const std::uint64_t key = std::uint64_t{process_token.index} << 32 | thread_token.index;
  const auto [known, fresh] = thread_by_tokens_.try_emplace(key, ThreadId{static_cast<std::uint32_t>(trace_.threads.size())});
  if (fresh) {
    trace_.threads.push_back({.process = unescaped(process), .id = unescaped(thread), .name = {}, .process_id = process_of(process)});
  }
  last_process_ = tokens_[process_token];  // the event's own bytes may be gone by the next
  last_thread_ = tokens_[thread_token];
  last_ = known->second;
  return last_;
}

NameId EventReader::name_of(std::string_view token) {
  const NameId raw = raw_names_.intern(bare(token));
  if (raw.index == name_by_raw_.size()) {
    const NameId name = trace_.names.intern(unescaped(token));
    name_by_raw_.push_back(name);
    if (name.index == annotation_by_name_.size()) {
      annotation_by_name_.push_back(is_annotation_name(trace_.names[name]));
      free_by_name_.push_back(is_free_name(trace_.names[name]));
    }
  }
  return name_by_raw_[raw.index];
}

// Torch before 1.12 filed record_function ranges under operators.
bool EventReader::is_range(const Raw& raw, NameId name) const {
  if (annotation_by_name_[name.index]) return true;
  return free_by_name_[name.index] && raw.arguments.sequence == kNone && bare(raw.category) == "Operator";
}

Category EventReader::category_of(const Raw& raw) {
  const std::string_view text = bare(raw.category);
  const std::string_view place = text.empty() ? bare(raw.process) : text;
  const NameId token = tokens_.intern(place);
  if (token.index >= category_by_token_.size()) category_by_token_.resize(token.index + 1);
  std::optional<Category>& known = category_by_token_[token.index];
  if (!known) known = category_named(place);
  return *known;
}

}  // namespace hotlens::trace
