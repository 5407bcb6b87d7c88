// What the words of a trace mean to the reader: categories, phases and the few names that are no events.
#pragma once

#include <optional>
#include <string_view>

#include "annotator/trace/trace.h"

namespace hotlens::trace {

// The category that a writer's `cat` names; the legacy writer has none, and its two made-up processes ("CPU functions") stand for it.
// Nothing for one that no writer known to us uses.
std::optional<Category> category_named(std::string_view text);

// The kind of device whose category it is: "mtia" of "mtia_runtime"; empty where it may be any's.
std::string_view accelerator_named(std::string_view category);

// A record_function range that torch up to 1.11 filed under operators: those that torch itself opens.
bool is_annotation_name(std::string_view name);

// A name that torch gives to none of its operators, so that in such an old trace it is a range that a person opened (or a custom function,
// which has a sequence number).
bool is_free_name(std::string_view name);

// The kind of arrow that a flow's category names; nothing for arrows of other tools.
std::optional<Flows::Kind> flow_named(std::string_view category);

}  // namespace hotlens::trace
