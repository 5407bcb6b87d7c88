// The document around the events: file, compression, root form, metadata, and what to do when the JSON breaks off.
#include <simdjson.h>

#include <string>
#include <utility>

#include "annotator/trace/bytes.h"
#include "annotator/trace/decimal.h"
#include "annotator/trace/event_reader.h"
#include "annotator/trace/inflate.h"
#include "annotator/trace/salvage.h"
#include "annotator/trace/trace.h"

namespace hotlens::trace {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;
using simdjson::SUCCESS;

error_code read_device(ondemand::object object, Trace& trace) {
  Device device;
  for (auto next : object) {
    ondemand::field field;
    if (const error_code error = std::move(next).get(field)) return error;
    const std::string_view token = field.value().raw_json_token();
    if (field.key() == "id") device.id = integer(token).value_or(0);
    if (field.key() == "name") device.name = unescaped(token);
    if (field.key() == "totalGlobalMem") device.memory_bytes = integer(token).value_or(0);
  }
  trace.devices.push_back(std::move(device));
  return SUCCESS;
}

error_code read_devices(ondemand::value value, Trace& trace) {
  ondemand::array devices;
  if (value.get_array().get(devices)) return SUCCESS;
  for (auto element : devices) {
    ondemand::object object;
    if (element.get_object().get(object)) continue;
    if (const error_code error = read_device(object, trace)) return error;
  }
  return SUCCESS;
}

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

struct Found {
  error_code error = SUCCESS;
  bool events = false;  // a list of events was seen
};

Found read_root(ondemand::document& document, Trace& trace, EventReader& reader) {
  ondemand::array list;
  ondemand::json_type type{};
  if (const error_code error = document.type().get(type)) return {error, false};
  if (type == ondemand::json_type::array) {
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
    } else if (field.key() == "baseTimeNanoseconds") {
      trace.base = Ns{integer(field.value().raw_json_token()).value_or(0)};
    } else if (field.key() == "deviceProperties") {
      if (const error_code error = read_devices(field.value(), trace)) return {error, events};
    } else if (field.key() == "hip_runtime_version" || field.key() == "roctracer_version") {
      trace.hip = true;
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
