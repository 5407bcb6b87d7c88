// What a trial of several models as one has measured, kept in the bundle that it is of (`sweep.json`: hotlens.sweep/1), so that who shows
// the profile later has it too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/lab/whatif/outcome.h"

namespace hotlens::sweep {

struct Tried {
  std::string refused;  // why nothing was measured, a sentence without its stop; empty: it was
  // Of the numbers of models that pay the one that gains most; where none pays, the one that comes nearest.
  std::int64_t models = 0;
  bool pays = false;
  lab::Ratio time;  // of a step of all models, as one to one after another
};

std::filesystem::path kept_sweep(const std::filesystem::path& bundle);

// Of a text that anybody may have written; nullopt where it tells of no trial, or of another profile's.
std::optional<Tried> tried_in(std::string_view text, const std::string& profile);
std::optional<Tried> read_kept_sweep(const std::filesystem::path& bundle, const std::string& profile);

// "4 models as one take 0.59 of the time of one after another (0.56 to 0.62)"; or that it does not pay, or why nothing was measured.
std::string spelled(const Tried& tried);

}  // namespace hotlens::sweep
