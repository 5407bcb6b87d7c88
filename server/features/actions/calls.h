// From a layer to its calls: where layers are made, where their class stands, and where they are called, in one file.
#pragma once

#include <string>
#include <vector>

#include "server/features/features.h"

namespace hotlens::features {

// The layers of what stands at a place: of the call or definition there, else of all on the line. Sorted; empty where there are none.
std::vector<profile::ModuleId> layers_at(const FileView& view, source::Position at);

struct CallPlace {
  source::Role role = source::Role::call;  // definition, class_line, constructor or call
  source::Range range;
  std::string text;   // of the line, without blanks around it
  std::string label;  // of the line's hint; empty: none
};

// Sorted by role, in the order above, then by place.
std::vector<CallPlace> places_of(const FileView& view, const std::vector<profile::ModuleId>& layers, const Options& options);

// Whether a file of the profile has any, before it is bound.
bool has_places_of(const profile::Profile& profile, profile::FileId file, const std::vector<profile::ModuleId>& layers);

}  // namespace hotlens::features
