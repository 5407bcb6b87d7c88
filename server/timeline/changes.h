// What comparisons share: a difference as the page is told it, and which block of one step is which of another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/blocks/blocks.h"
#include "annotator/report/diff.h"
#include "protocol/reader.h"
#include "server/features/timeline/breakdown.h"
#include "server/timeline/library.h"

namespace hotlens::timeline_requests {

report::Side side_of(const Library::Shared& opened);

// Adds `change`, and `before`, `after`, `noise` where they are known.
void put_change(protocol::Json& json, const report::Change& change);

// Of two steps of one profile: what is within three times the usual distance from the median of all steps is no change; with fewer than
// three steps half a percent of `longer`, the longer one.
report::Change change_of_steps(const features::StepsRow& row, const profile::Profile& profile, Ns longer);

// Of the two steps as wholes.
report::Change change_of_walls(const profile::Profile& profile, std::size_t before, std::size_t after);

// The path of the partner of a module, by path; nothing where it has none.
using Partner = std::function<std::optional<std::string>(const std::string& path)>;

// The block of `to` that is `block` in `from`. A module's call is that of its partner, the same one in the order of its calls below what
// both have; a wrapper that only one side has is stepped over. What is inside of modules goes by name and number, a fold by its first
// member.
std::optional<std::uint32_t> counterpart_of(const blocks::Blocks& from, std::uint32_t block, const blocks::Blocks& to,
                                            const Partner& partner);

}  // namespace hotlens::timeline_requests
