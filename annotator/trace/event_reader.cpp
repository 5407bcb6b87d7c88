#include "annotator/trace/event_reader.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "annotator/common/format.h"
#include "annotator/trace/category.h"
#include "annotator/trace/decimal.h"
#include "annotator/trace/exchange.h"
#include "annotator/trace/text.h"

namespace hotlens::trace {
namespace {

using simdjson::error_code;
using simdjson::SUCCESS;

// A point in time that leaves room for every duration added to it.
std::optional<Ns> instant(std::string_view token) {
  const std::optional<Ns> time = microseconds(token);
  return time && std::abs(time->count()) <= Total::kMost ? time : std::nullopt;
}

// A fault with the place of its first event: its number in the list.
void add(Issues& issues, std::string_view code, std::string_view what, std::uint32_t event) {
  issues.add(code, std::string(what) + " (first: event " + std::to_string(event) + ")");
}

// Of an event; 0 where it is negative.
std::optional<Ns> duration_of(const Fields& fields, std::uint32_t event, Issues& issues) {
  const std::optional<Ns> duration = fields.duration.empty() ? Ns{} : microseconds(fields.duration);
  if (duration && *duration < Ns{}) add(issues, "negative-duration", "an event ends before it starts; its duration counts as 0", event);
  return duration ? std::max(*duration, Ns{}) : duration;
}

void add_unusable(Issues& issues, std::uint32_t event) {
  add(issues, "unusable-event", "an event has no name or no usable time and was left out", event);
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

EventReader::EventReader(Trace& trace, Issues& issues, std::size_t bytes) : trace_(trace), issues_(issues), vocabulary_(trace) {
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

error_code EventReader::read(simdjson::ondemand::object object) {
  Fields fields;
  if (const error_code error = read_fields(object, fields)) return error;
  switch (fields.phase) {
    case 'X':
      keep(fields);
      break;
    case 'i':
      keep_memory(fields);
      break;
    case 's':
    case 'f':
      keep_flow(fields);
      break;
    case 'M':
      keep_metadata(fields);
      break;
    default:
      break;
  }
  ++next_index_;
  return SUCCESS;
}

void EventReader::keep(const Fields& fields) {
  // The Python writer gives instants a duration of 0.
  if (fields.arguments.allocates && bare(fields.name).starts_with('[')) return keep_memory(fields);
  const std::optional<Ns> start = instant(fields.start);
  const std::optional<Ns> duration = duration_of(fields, next_index_, issues_);
  if (!start || !duration || fields.name.empty() || !time_.add(duration->count())) return add_unusable(issues_, next_index_);
  const NameId name = vocabulary_.name_of(fields.name);
  const Category category = vocabulary_.category_of(fields.category, fields.process, name, fields.arguments.sequence != kNone);
  if (vocabulary_.is_unknown()) note_unknown(fields, *duration);
  Events& events = trace_.events;
  keep_sides(static_cast<std::uint32_t>(events.size()), category, fields.arguments);
  keep_message(static_cast<std::uint32_t>(events.size()), category, trace_.names[name], fields.arguments);
  events.name.push_back(name);
  events.category.push_back(category);
  events.thread.push_back(vocabulary_.thread_of(fields.process, fields.thread));
  events.start.push_back(*start);
  events.duration.push_back(*duration);
  events.correlation.push_back(fields.arguments.correlation);
  events.sequence.push_back(fields.arguments.sequence);
  events.forward_thread.push_back(narrowed<std::int32_t>(std::max<std::int64_t>(fields.arguments.forward_thread, 0)));
  events.index.push_back(next_index_);
}

void EventReader::note_unknown(const Fields& fields, Ns duration) {
  constexpr std::size_t kMost = 16;             // categories; a hostile trace may have as many as events
  constexpr std::size_t kLongestCategory = 60;  // bytes
  if (!fields.arguments.names_device && fields.arguments.correlation <= 0) return;
  const std::string_view category = vocabulary_.last_category().substr(0, kLongestCategory);
  auto known = unknown_.find(category);
  if (known == unknown_.end() && unknown_.size() < kMost) known = unknown_.emplace(category, Unknown{}).first;
  if (known == unknown_.end()) return;
  ++known->second.events;
  known->second.time += duration;
}

void EventReader::name_unknown() {
  std::string names;
  std::int64_t events = 0;
  Ns time{};
  for (const auto& [category, unknown] : unknown_) {
    names += (names.empty() ? "\"" : ", \"") + category + "\"";
    events += unknown.events;
    time += unknown.time;
  }
  if (events == 0) return;
  issues_.add("unknown-category",
              "events of the category " + names + " look like work of a device, " + format::readable(time) +
                  " of it, but no device of that kind is known: they are in no sum",
              events);
}

void EventReader::keep_sides(std::uint32_t event, Category category, const Arguments& arguments) {
  if (category == Category::cpu_op) {
    sequenced_ |= arguments.forward_thread > 0 && arguments.sequence >= 0;
    trace_.recording.call_stacks |= arguments.has_stack;
    if (arguments.shapes.empty()) return;
    const auto kept = [&](std::string_view text) { return text.empty() ? NameId{} : trace_.inputs_text.intern(text); };
    trace_.inputs.event.push_back(event);
    trace_.inputs.shapes.push_back(kept(arguments.shapes));
    trace_.inputs.types.push_back(kept(arguments.types));
    trace_.inputs.values.push_back(kept(arguments.values));
  } else if (on_device(category)) {
    correlated_ |= arguments.correlation > 0;
    if (category == Category::kernel || arguments.bytes < 0 || !bytes_.add(arguments.bytes)) return;
    trace_.transfers.event.push_back(event);
    trace_.transfers.bytes.push_back(arguments.bytes);
  }
}

void EventReader::keep_message(std::uint32_t event, Category category, std::string_view name, const Arguments& arguments) {
  const std::string_view operation = category == Category::annotation ? exchange_of(name) : std::string_view();
  if (arguments.collective.empty() && operation.empty()) return;
  const auto kept = [&](std::string_view token) { return token.empty() ? NameId{} : trace_.inputs_text.intern(unescaped(token)); };
  Messages& messages = trace_.messages;
  messages.event.push_back(event);
  messages.operation.push_back(operation.empty() ? kept(arguments.collective) : trace_.inputs_text.intern(operation));
  const bool by_shapes = arguments.in_elements == kNone && !arguments.shapes.empty();
  messages.type.push_back(by_shapes ? trace_.inputs_text.intern(first_text(arguments.types)) : kept(arguments.element_type));
  messages.in.push_back(by_shapes ? elements_in(arguments.shapes) : arguments.in_elements);
  messages.out.push_back(arguments.out_elements);
  messages.group.push_back(kept(arguments.group));
  messages.ranks.push_back(kept(arguments.group_ranks));
  messages.group_size.push_back(arguments.group_size);
  messages.sequence.push_back(arguments.group_sequence);
}

void EventReader::keep_memory(const Fields& fields) {
  const std::string_view name = bare(fields.name);
  if (name == "[OutOfMemory]") {
    add(issues_, "out-of-memory", "an allocation failed for lack of memory while the trace was recorded", next_index_);
    return;
  }
  if (name != "[memory]") return;
  const Arguments& arguments = fields.arguments;
  const std::optional<Ns> time = instant(fields.start);
  if (!time || !arguments.allocates || !bytes_.add(arguments.bytes)) return add_unusable(issues_, next_index_);
  MemoryEvents& memory = trace_.memory;
  memory.thread.push_back(vocabulary_.thread_of(fields.process, fields.thread));
  memory.time.push_back(*time);
  memory.address.push_back(arguments.address);
  memory.bytes.push_back(arguments.bytes);
  memory.device_type.push_back(narrowed<std::int8_t>(arguments.device_type));
  memory.device.push_back(narrowed<std::int32_t>(arguments.device));
  memory.total_allocated.push_back(arguments.allocated);
  memory.total_reserved.push_back(arguments.reserved);
}

void EventReader::keep_flow(const Fields& fields) {
  if (correlated_ && sequenced_) return;
  const std::optional<Flows::Kind> kind = flow_named(bare(fields.category));
  if (!kind || (*kind == Flows::Kind::launch ? correlated_ : sequenced_)) return;
  const std::optional<Ns> time = instant(fields.start);
  const std::optional<std::int64_t> id = integer(fields.id);
  if (!time || !id) {
    add(issues_, "unusable-flow", "an arrow between events has no usable time or number and was left out", next_index_);
    return;
  }
  Flows& flows = trace_.flows;
  flows.id.push_back(*id);
  flows.kind.push_back(*kind);
  flows.end.push_back(fields.phase == 's' ? Flows::End::start : Flows::End::finish);
  flows.thread.push_back(vocabulary_.thread_of(fields.process, fields.thread));
  flows.time.push_back(*time);
}

void EventReader::finish() {
  name_unknown();
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

void EventReader::keep_metadata(const Fields& fields) {
  const std::string_view what = bare(fields.name);
  if (what == "thread_name" && !fields.arguments.name.empty()) {
    trace_.threads[vocabulary_.thread_of(fields.process, fields.thread).index].name = unescaped(fields.arguments.name);
  } else if (what == "process_name" && !fields.arguments.name.empty()) {
    trace_.processes[vocabulary_.process_of(fields.process).index].name = unescaped(fields.arguments.name);
  } else if (what == "process_labels" && !fields.arguments.labels.empty()) {
    trace_.processes[vocabulary_.process_of(fields.process).index].labels = unescaped(fields.arguments.labels);
  }
}

}  // namespace hotlens::trace
