// A trace with its annotation, as load() and the event report both need it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "annotator/profile/bundle.h"
#include "annotator/profile/memory.h"
#include "annotator/timeline/account.h"

namespace hotlens::profile {

struct Annotated {
  trace::Trace trace;
  timeline::Forest forest;
  timeline::Steps steps;
  timeline::Owners owners;
  timeline::Account account;
  std::optional<Manifest> manifest;  // of a bundle
  std::optional<Model> model;
  std::optional<MemoryUse> map_memory;  // of a bundle's map step
  double alignment = 1.0;
  How how = How::none;
  std::filesystem::path path;  // bundle folder or trace file
  Issues issues;
};

Result<Annotated> annotate(const std::filesystem::path& bundle_or_trace);

// The numbers of an annotated trace. Takes what it does not need twice: the chains of a bundle without a map step are emptied.
std::shared_ptr<const Profile> profile_of(Annotated& annotated);

}  // namespace hotlens::profile
