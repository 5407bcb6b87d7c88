// The document around the events: file, compression, root form, metadata, and what to do when the JSON breaks off.
#include <simdjson.h>

#include <string>
#include <utility>

#include "annotator/trace/bytes.h"
#include "annotator/trace/event_reader.h"
#include "annotator/trace/facts.h"
#include "annotator/trace/inflate.h"
#include "annotator/trace/salvage.h"
#include "annotator/trace/trace.h"

namespace hotlens::trace {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;
using simdjson::SUCCESS;

error_code read_events(ondemand::array events, EventReader& reader) {
  for (auto element : events) {
    ondemand::value value;
    if (const error_code error = std::move(element).get(value)) return error;
    ondemand::object object;
    if (value.get_object().get(object)) {
      reader.skip();
      continue;
    }
    if (const error_code error = reader.read(object)) return error;
  }
  return SUCCESS;
}

error_code read_fact(ondemand::field field, Trace& trace) {
  std::string_view key;
  if (field.unescaped_key().get(key) || !is_fact(key)) return SUCCESS;
  ondemand::value value = field.value();
  ondemand::array array;
  ondemand::object object;
  std::string_view text;
  switch (value.type().value_unsafe()) {
    case ondemand::json_type::array:
      if (const error_code error = value.get_array().get(array)) return error;
      if (const error_code error = array.raw_json().get(text)) return error;
      break;
    case ondemand::json_type::object:
      if (const error_code error = value.get_object().get(object)) return error;
      if (const error_code error = object.raw_json().get(text)) return error;
      break;
    default:
      text = value.raw_json_token();
  }
  keep_fact(key, text, trace);
  return SUCCESS;
}

struct Found {
  error_code error = SUCCESS;
  bool events = false;  // a list of events was seen
};

Found read_root(ondemand::document& document, Trace& trace, EventReader& reader) {
  ondemand::array list;
  ondemand::json_type type{};
  if (const error_code error = document.type().get(type)) return {error, false};
  if (type == ondemand::json_type::array) {
    trace.recording.legacy = true;
    if (const error_code error = document.get_array().get(list)) return {error, true};
    return {read_events(list, reader), true};
  }
  ondemand::object root;
  if (const error_code error = document.get_object().get(root)) return {error, false};
  bool events = false;
  for (auto next : root) {
    ondemand::field field;
    if (const error_code error = std::move(next).get(field)) return {error, events};
    if (field.key() == "traceEvents") {
      if (field.value().get_array().get(list)) continue;
      events = true;
      if (const error_code error = read_events(list, reader)) return {error, true};
    } else if (const error_code error = read_fact(field, trace)) {
      return {error, events};
    }
  }
  return {SUCCESS, events};
}

Error unusable(std::string_view where, std::string message) {
  return {ErrorCode::malformed, std::move(message), std::string(where)};
}

Result<Trace> read_padded(PaddedBytes bytes, std::string_view where, Issues& issues) {
  if (is_gzip(bytes.view())) {
    Result<PaddedBytes> json = inflated(bytes.view(), where, issues);
    if (!json) return std::unexpected(json.error());
    bytes = std::move(*json);
  }
  if (bytes.view().find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return std::unexpected(unusable(where, "the file is empty; record the trace again"));
  }
  Trace trace;
  trace.json_bytes = bytes.size();
  EventReader reader(trace, issues);
  ondemand::parser parser;
  ondemand::document document;
  const simdjson::padded_string_view json(bytes.data(), bytes.size(), bytes.size() + PaddedBytes::kPadding);
  Found found{parser.iterate(json).get(document), false};
  if (!found.error) found = read_root(document, trace, reader);
  if (found.error) {
    found.events = salvage(bytes, reader.seen(), trace, reader, issues) || found.events;
    if (trace.events.size() == 0) {
      return std::unexpected(unusable(where, std::string("this is not a readable profiler trace (") + simdjson::error_message(found.error) +
                                                 "), and no whole event was found in it; record it again"));
    }
  }
  reader.finish();
  if (!found.events) {
    return std::unexpected(unusable(where, "this JSON has no traceEvents: it is not a profiler trace; give a *.pt.trace.json file"));
  }
  return trace;
}

}  // namespace

Result<Trace> read_bytes(std::string_view bytes, std::string_view where, Issues& issues) {
  return read_padded(PaddedBytes::copy_of(bytes), where, issues);
}

Result<Trace> read_file(const std::filesystem::path& path, Issues& issues) {
  Result<PaddedBytes> bytes = file_bytes(path);
  if (!bytes) return std::unexpected(bytes.error());
  return read_padded(std::move(*bytes), path.string(), issues);
}

}  // namespace hotlens::trace
