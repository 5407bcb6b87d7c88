#include "annotator/trace/event_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "annotator/trace/decimal.h"

namespace hotlens::trace {
namespace {

using simdjson::error_code;
using simdjson::SUCCESS;

struct NamedCategory {
  std::string_view text;
  Category category;
};

// Spellings through the versions: capitalised up to torch 1.11, other accelerators name their own runtimes.
constexpr std::array kCategories = std::to_array<NamedCategory>({
    {"cpu_op", Category::cpu_op},
    {"hpu_op", Category::cpu_op},
    {"user_annotation", Category::annotation},
    {"gpu_user_annotation", Category::device_annotation},
    {"cuda_runtime", Category::runtime},
    {"Runtime", Category::runtime},
    {"hip_runtime", Category::runtime},
    {"xpu_runtime", Category::runtime},
    {"mtia_runtime", Category::runtime},
    {"glow_runtime", Category::runtime},
    {"privateuse1_runtime", Category::runtime},
    {"cuda_driver", Category::driver},
    {"xpu_driver", Category::driver},
    {"privateuse1_driver", Category::driver},
    {"kernel", Category::kernel},
    {"Kernel", Category::kernel},
    {"gpu_memcpy", Category::copy},
    {"Memcpy", Category::copy},
    {"gpu_memset", Category::fill},
    {"Memset", Category::fill},
    {"python_function", Category::python},
    {"cpu_instant_event", Category::memory},
    {"overhead", Category::overhead},
    {"cuda_sync", Category::sync},
    {"xpu_sync", Category::sync},
});

// Up to torch 1.11 one category held operators and record_function ranges alike; these prefixes are the ranges that torch itself opens.
constexpr std::array<std::string_view, 4> kAnnotationPrefixes = {"ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#",
                                                                 "DistributedDataParallel."};

bool is_annotation_name(std::string_view name) {
  return std::ranges::any_of(kAnnotationPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// A token reaches to the next one: cut the white space, then the quotes.
std::string_view bare(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  return token;
}

// True when the key, still in the file's bytes, is `text`.
bool is(simdjson::ondemand::raw_json_string key, std::string_view text) {
  const char* at = key.raw();
  return std::string_view(at, text.size()) == text && at[text.size()] == '"';
}

std::uint32_t code_point(std::string_view hex) {
  std::uint32_t value = 0;
  for (char c : hex) {
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return 0xfffd;
    value = value * 16 + static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
  }
  return value >= 0xd800 && value < 0xe000 ? 0xfffd : value;
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

constexpr std::size_t kNameLimit = 64 * 1024;  // bytes; longer names are cut, nobody reads them and they may be hostile

constexpr std::size_t kBytesPerEvent = 400;  // of the shared traces, 260 to 500: columns grow at most once

}  // namespace

bool on_device(Category category) {
  return category == Category::kernel || category == Category::copy || category == Category::fill;
}

std::string unescaped(std::string_view token) {
  const std::string_view raw = bare(token).substr(0, kNameLimit);
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case 'r':
        text += '\r';
        break;
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'u':
        append_utf8(text, i + 4 < raw.size() ? code_point(raw.substr(i + 1, 4)) : 0xfffd);
        i = std::min(i + 4, raw.size() - 1);
        break;
      default:
        if (raw[i] != '"' && raw[i] != '\\' && raw[i] != '/') text += '\\';  // no escape: an old writer's Windows path
        text += raw[i];
    }
  }
  return text;
}

EventReader::EventReader(Trace& trace, Issues& issues) : trace_(trace), issues_(issues) {
  const std::size_t expected = trace.json_bytes / kBytesPerEvent;
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

// The fields of one event as they stand in the file.
struct EventReader::Raw {
  char phase = 0;
  std::string_view name, category, process, thread, start, duration, thread_name;
  std::int64_t correlation = kNone;
  std::int64_t sequence = kNone;
  std::int32_t forward_thread = 0;
};

error_code EventReader::read(simdjson::ondemand::object object) {
  Raw raw;
  if (const error_code error = read_fields(object, raw)) return error;
  switch (raw.phase) {
    case 'X':
      keep(raw);
      break;
    case 'M':
      keep_metadata(raw);
      break;
    default:
      break;  // flows say nothing that correlation and sequence numbers do not say better
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
      if (const error_code error = read_args(value, raw)) return error;
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
      default:
        break;
    }
  }
  return SUCCESS;
}

error_code EventReader::read_args(simdjson::ondemand::value value, Raw& raw) {
  simdjson::ondemand::object args;
  if (value.get_object().get(args)) return SUCCESS;  // not an object: nothing in it for us
  for (auto next : args) {
    simdjson::ondemand::field field;
    if (const error_code error = std::move(next).get(field)) return error;
    const simdjson::ondemand::raw_json_string key = field.key();
    switch (key.raw()[0]) {
      case 'c':
        if (is(key, "correlation")) raw.correlation = integer(field.value().raw_json_token()).value_or(kNone);
        break;
      case 'S':
        if (is(key, "Sequence number")) raw.sequence = integer(field.value().raw_json_token()).value_or(kNone);
        break;
      case 'F':
        if (is(key, "Fwd thread id")) {
          raw.forward_thread = static_cast<std::int32_t>(
              std::clamp<std::int64_t>(integer(field.value().raw_json_token()).value_or(0), 0, std::numeric_limits<std::int32_t>::max()));
        }
        break;
      case 'n':
        if (is(key, "name")) raw.thread_name = field.value().raw_json_token();
        break;
      default:
        break;
    }
  }
  return SUCCESS;
}

void EventReader::keep(const Raw& raw) {
  const std::optional<Ns> start = microseconds(raw.start);
  const std::optional<Ns> duration = raw.duration.empty() ? Ns{} : microseconds(raw.duration);
  if (!start || !duration || raw.name.empty()) {
    issues_.add("unusable-event", "an event has no name or no usable time and was left out");
    return;
  }
  if (*duration < Ns{}) issues_.add("negative-duration", "an event ends before it starts; its duration counts as 0");
  const NameId name = name_of(raw.name);
  Events& events = trace_.events;
  events.name.push_back(name);
  events.category.push_back(category_of(raw, name));
  events.thread.push_back(thread_of(raw.process, raw.thread));
  events.start.push_back(*start);
  events.duration.push_back(std::max(*duration, Ns{}));
  events.correlation.push_back(raw.correlation);
  events.sequence.push_back(raw.sequence);
  events.forward_thread.push_back(raw.forward_thread);
  events.index.push_back(next_index_);
}

void EventReader::keep_metadata(const Raw& raw) {
  if (bare(raw.name) != "thread_name" || raw.thread_name.empty()) return;
  trace_.threads[thread_of(raw.process, raw.thread).index].name = unescaped(raw.thread_name);
}

ThreadId EventReader::thread_of(std::string_view process, std::string_view thread) {
  process = bare(process);
  thread = bare(thread);
  if (last_.valid() && process == last_process_ && thread == last_thread_) return last_;
  const NameId process_token = tokens_.intern(process);
  const NameId thread_token = tokens_.intern(thread);
  const std::uint64_t key = std::uint64_t{process_token.index} << 32 | thread_token.index;
  const auto [known, fresh] = thread_by_tokens_.try_emplace(key, ThreadId{static_cast<std::uint32_t>(trace_.threads.size())});
  if (fresh) trace_.threads.push_back({.process = unescaped(process), .id = unescaped(thread), .name = {}});
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
    if (name.index == annotation_by_name_.size()) annotation_by_name_.push_back(is_annotation_name(trace_.names[name]));
  }
  return name_by_raw_[raw.index];
}

Category EventReader::category_of(const Raw& raw, NameId name) {
  const std::string_view text = bare(raw.category);
  const std::string_view place = text.empty() ? bare(raw.process) : text;
  const NameId token = tokens_.intern(place);
  if (token.index >= category_by_token_.size()) category_by_token_.resize(token.index + 1, Category::other);
  Category& known = category_by_token_[token.index];
  if (known == Category::other) {
    const auto named = std::ranges::find(kCategories, place, &NamedCategory::text);
    if (named != kCategories.end()) known = named->category;
    // The legacy writer has no categories, only two made-up processes; torch up to 1.11 calls everything on the host an operator.
    if (place == "CPU functions" || place == "Operator") known = Category::cpu_op;
    if (place == "CUDA functions") known = Category::kernel;
  }
  if (known == Category::cpu_op && annotation_by_name_[name.index]) return Category::annotation;
  return known;
}

}  // namespace hotlens::trace
