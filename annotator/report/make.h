// What a module itself is made of, its children left out: facts that no noise touches. Where they differ, the module has changed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::report {

// Absent: not known, or not the same in all runs.
struct Make {
  std::optional<std::string> class_name;
  std::optional<Bytes> parameters;
  std::optional<std::int64_t> calls;                                  // a step
  std::optional<std::map<std::string, std::int64_t>> operators;       // of its forward, by name: calls
  std::map<std::pair<std::string, std::string>, std::int64_t> sizes;  // the same by name and shapes

  // Keeps what both say.
  void agree(const Make& other);
};
// `comparable`: both sides were recorded alike, so that calls and operators mean the same.
Make make_of(const profile::Profile& profile, profile::ModuleId module, bool comparable);

// "512 → 576", "Linear → Conv2d", "1 → 2 calls", "parameters 1.05 MB → 1.18 MB", "operators aten::relu → aten::gelu"; empty where nothing
// changed. Other shapes alone are no change: a module is given what others make, or another batch.
std::vector<std::string> changes(const Make& before, const Make& after);

}  // namespace hotlens::report
