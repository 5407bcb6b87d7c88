// A trace with its annotation, as load() and the event report both need it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "annotator/attribution/account/account.h"
#include "annotator/attribution/map_step/transfer.h"
#include "annotator/attribution/owners/call_tree.h"
#include "annotator/costs/finder.h"
#include "annotator/profile/build/held_over_time.h"
#include "annotator/profile/build/stage_lines.h"
#include "annotator/profile/bundle/bundle.h"

namespace hotlens::profile {

// What the operators of a bundle's map step were given.
struct MapInputs {
  trace::Inputs inputs;
  trace::Names text;
  std::vector<std::uint32_t> twin;  // by node: an event of the map step; kNoNode where none is certain
};

struct Annotated {
  trace::Trace trace;
  attribution::Forest forest;
  attribution::Steps steps;
  attribution::Owners owners;
  attribution::Account account;
  std::optional<Manifest> manifest;  // of a bundle
  std::optional<Model> model;
  std::vector<attribution::CalledModule> called;  // of a bundle: by module number of the owners' calls; first come those of the model
  std::shared_ptr<const Loop> loop;               // of a bundle, for the rank that wrote it
  std::optional<SavedTensors> saved;              // the same, by the model's modules
  StageLines stage_lines;                         // of a bundle
  std::optional<MemoryUse> map_memory;            // of a bundle's map step
  std::optional<MapHeld> map_held;                // likewise; nothing where it recorded no memory
  std::optional<MapInputs> map_inputs;            // likewise
  double alignment = 1.0;
  std::vector<attribution::StepFit> fit;  // by step; empty without a map step
  How how = How::none;
  std::filesystem::path path;        // bundle folder or trace file
  std::filesystem::path trace_file;  // what was read: the trace, or that of one rank of the bundle
  std::int64_t rank = 0;             // of a bundle with several
  Issues issues;
};

// `rank` of a bundle that holds several; without it the one that wrote the bundle. A rank that is not there is an error.
Result<Annotated> annotate(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> rank = std::nullopt);

// What its operators were given.
costs::Given given_of(const Annotated& annotated);

// The numbers of an annotated trace; of the step at position `only` alone where that is given. Takes what it does not need twice: the
// chains of a bundle without a map step are emptied.
std::shared_ptr<const Profile> profile_of(Annotated& annotated, std::optional<std::size_t> only = std::nullopt);

}  // namespace hotlens::profile
