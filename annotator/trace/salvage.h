// Reading a trace that is not valid JSON: truncated, with raw quotes, control characters or bytes in names, with rubbish between events.
//
// Cuts the list of events into pieces, reads each whole piece like any event, repairs the strings of the others once, and counts what
// stays unreadable. Slower than the plain path and only taken when that one failed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "annotator/trace/bytes.h"
#include "annotator/trace/event_reader.h"

namespace hotlens::trace {

// The first `already` elements were read before. Returns whether there is a list
// of events at all.
bool salvage(const PaddedBytes& bytes, std::uint32_t already, Trace& trace, EventReader& reader, Issues& issues);

// One event's text with the strings in it made valid: raw quotes, control characters and invalid UTF-8 escaped or replaced.
std::string repaired(std::string_view event);

}  // namespace hotlens::trace
