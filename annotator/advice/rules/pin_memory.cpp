#include "annotator/advice/rules/copies.h"

namespace hotlens::rules {

// Certain: the trace names pageable memory, from which a copy holds its host up and takes longer.
std::optional<Found> pin_memory(const Recording& recording) {
  const Copies copies = copies_to_device(recording, [&](const attribution::Work& work) {
    return recording.name(work).contains("Pageable") && !work.owner.works_for_module();
  });
  if (copies.count == 0) return std::nullopt;
  return Found{.evidence = evidence_of(copies, "copy from pageable memory", "copies from pageable memory"),
               .assumes = {"the next batch is copied while the device works on this one: DataLoader(pin_memory=True), "
                           "batch.to(device, non_blocking=True)"},
               .node = first(recording, copies.launches),
               .change = without(copies.launches)};
}

}  // namespace hotlens::rules
