// From what a person names to the ranks of one run: a bundle of several, a folder of traces, a glob, several files. One trace is in memory
// at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "annotator/ranks/together.h"

namespace hotlens::ranks {

// What profile::load takes.
struct Source {
  std::filesystem::path path;        // bundle or trace
  std::optional<std::int64_t> rank;  // of a bundle with several
};

// One source for a reference that names one profile, as profile::resolve says; of a bundle with several ranks one each. Files of a folder
// or a glob come by name.
Result<std::vector<Source>> sources(std::span<const std::string> references, const std::filesystem::path& from);

// The one to show: of `rank`, without a wish the first. Reads traces until it is found; ErrorCode::usage where it is not there.
Result<Source> one_of(std::span<const Source> sources, std::optional<std::int64_t> rank);

struct Ranks {
  RankSet set;
  std::vector<Source> sources;  // as set.ranks
  // The position of a rank; of the first without a wish. ErrorCode::usage where it is not there.
  Result<std::size_t> position(std::optional<std::int64_t> rank) const;
};

// Recordings that cannot be read are issues of the set. An error where none can, or where two are of one rank or of runs of different size.
Result<Ranks> read(std::span<const Source> sources);

}  // namespace hotlens::ranks
