#include "annotator/trace/fields.h"

#include "annotator/trace/decimal.h"

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

error_code read_arguments(simdjson::ondemand::value value, Arguments& arguments) {
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
        if (is(key, "Seq")) arguments.group_sequence = number(field.value());
        break;
      case 'F':
        if (is(key, "Fwd thread id")) arguments.forward_thread = number(field.value());
        break;
      case 'I':
        if (is(key, "Input Dims") || is(key, "Input dims")) arguments.shapes = array_text(field.value());
        if (is(key, "Input type")) arguments.types = array_text(field.value());
        if (is(key, "In msg nelems")) arguments.in_elements = number(field.value());
        break;
      case 'C':
        if (is(key, "Concrete Inputs")) arguments.values = array_text(field.value());
        if (is(key, "Collective name")) arguments.collective = field.value().raw_json_token();
        if (is(key, "Call stack")) arguments.has_stack = !field.value().raw_json_token().starts_with("\"\"");
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
      case 's':
        arguments.names_device |= is(key, "stream");
        break;
      case 'd':
        arguments.names_device |= is(key, "device");
        if (is(key, "dtype")) arguments.element_type = field.value().raw_json_token();
        break;
      case 'G':
        if (is(key, "Group size")) arguments.group_size = number(field.value());
        break;
      case 'O':
        if (is(key, "Out msg nelems")) arguments.out_elements = number(field.value());
        break;
      case 'P':
        if (is(key, "Process Group Name")) arguments.group = field.value().raw_json_token();
        if (is(key, "Process Group Ranks")) arguments.group_ranks = field.value().raw_json_token();
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

}  // namespace

error_code read_fields(simdjson::ondemand::object object, Fields& fields) {
  for (auto next : object) {
    simdjson::ondemand::field field;
    if (const error_code error = std::move(next).get(field)) return error;
    const simdjson::ondemand::raw_json_string key = field.key();
    simdjson::ondemand::value value = field.value();
    if (is(key, "args")) {
      // What a Python frame tells beside its name and time is of no use to us, and frames are most of a trace with stacks.
      if (fields.category == "\"python_function\"") continue;
      if (const error_code error = read_arguments(value, fields.arguments)) return error;
      continue;
    }
    const std::string_view token = value.raw_json_token();
    switch (key.raw()[0]) {
      case 'p':
        if (is(key, "ph")) fields.phase = token.size() > 2 ? token[1] : '\0';
        if (is(key, "pid")) fields.process = token;
        break;
      case 'c':
        if (is(key, "cat")) fields.category = token;
        break;
      case 'n':
        if (is(key, "name")) fields.name = token;
        break;
      case 't':
        if (is(key, "tid")) fields.thread = token;
        if (is(key, "ts")) fields.start = token;
        break;
      case 'd':
        if (is(key, "dur")) fields.duration = token;
        break;
      case 'i':
        if (is(key, "id")) fields.id = token;
        break;
      default:
        break;
    }
  }
  return SUCCESS;
}

}  // namespace hotlens::trace
