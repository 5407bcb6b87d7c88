// A bundle or a trace file to the Profile that everything else shares.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "annotator/profile/build/annotated.h"
#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The code of the warning that no line can be given, because the trace was recorded without Python frames.
inline constexpr std::string_view kNoFrames = "no-frames";

struct Loaded {
  Annotated annotated;
  std::shared_ptr<const Profile> profile;
  std::size_t shown = 0;  // the profile's representative step, among those of the account
};

// Reads a bundle folder or a trace file (.json, .json.gz). Blocks on I/O: call it off the main strand. With `step` (a Step::index) the
// profile holds that step alone; ErrorCode::usage where there is none of that number. `rank`: of a bundle with several, the one to read;
// without it the one that wrote the bundle.
Result<std::shared_ptr<const Profile>> load(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> step = std::nullopt,
                                            std::optional<std::int64_t> rank = std::nullopt);

// The same, with what the profile was made from.
Result<Loaded> load_annotated(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> step = std::nullopt,
                              std::optional<std::int64_t> rank = std::nullopt);

}  // namespace hotlens::profile
