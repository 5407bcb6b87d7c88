#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {

// Certain: how many page faults a step had without the profiler, and what one takes there. That the pages are of memory which was freed and
// taken anew is what a step that repeats itself suggests. In which operators they lie is not recorded, so each is shorter by the same
// share.
std::optional<Found> keep_freed(const Recording& recording) {
  const std::optional<profile::PageFaults>& faults = recording.profile.page_faults;
  if (!faults || !faults->can_end || faults->share() < profile::kMuchFaulting) return std::nullopt;
  const double rest = 1 - faults->share();
  const std::string of = " in a step of " + format::readable(faults->step) + " without the profiler";
  return Found{.evidence = {{counted(faults->count, "page fault", "page faults") + of, faults->time(), ""}},
               .assumes = {"the command begins with " + std::string(profile::kKeepsFreed),
                           "the pages are of memory that each step frees and takes anew"},
               .node = attribution::kNoNode,
               .change = {.work = {}, .host = [rest](const attribution::Piece&) { return rest; }, .unwaited = {}}};
}

}  // namespace hotlens::rules
