// From a place in the code to a block of the timeline, and to the address of a page that shows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/json.h"
#include "server/features/features.h"
#include "server/timeline/library.h"

namespace hotlens::session {

// What a place in the code stands for: its first module, else its stage.
struct TimelineTarget {
  std::string profile;  // its id
  std::string module;   // path; of a module
  std::optional<profile::Stage> stage;
};
std::optional<TimelineTarget> target_at(const features::FileView& view, source::Position at);

// {profile, step, path} of the target's first block in the representative step; null where the step has none. Blocks on I/O.
protocol::Json found_place(timeline_requests::Library& library, const TimelineTarget& target);

// The state that TIMELINE.md puts behind the address.
std::string fragment_of(const protocol::Json& place);

std::string percent_escaped(std::string_view text);

}  // namespace hotlens::session
