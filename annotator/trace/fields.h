// One JSON object of traceEvents as the fields that some kind of event is asked for, before anything is made of them.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string_view>

#include "annotator/trace/trace.h"

namespace hotlens::trace {

// The arguments that some kind of event is asked for.
struct Arguments {
  std::int64_t correlation = kNone;
  std::int64_t sequence = kNone;
  std::int64_t forward_thread = 0;
  std::int64_t bytes = kNone;
  bool allocates = false;     // has what only a memory event has
  bool has_stack = false;     // tells the Python code that called it
  bool names_device = false;  // tells a stream or a device, as work of one does
  std::int64_t address = kNone, device_type = kNone, device = kNone, allocated = kNone, reserved = kNone;
  std::string_view shapes, types, values;  // arrays as written
  std::string_view name, labels;           // of metadata records
  // Of what is exchanged between processes: texts with their quotes.
  std::string_view collective, element_type, group, group_ranks;
  std::int64_t in_elements = kNone, out_elements = kNone, group_size = kNone, group_sequence = kNone;
};

// Tokens as they stand in the file, strings with their quotes; valid as long as its text is in memory.
struct Fields {
  char phase = 0;
  std::string_view name, category, process, thread, start, duration, id;
  Arguments arguments;
};

// An error means that the JSON itself is broken here.
simdjson::error_code read_fields(simdjson::ondemand::object object, Fields& fields);

}  // namespace hotlens::trace
