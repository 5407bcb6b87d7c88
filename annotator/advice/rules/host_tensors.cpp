#include "annotator/advice/rules/copies.h"

namespace hotlens::rules {

// Certain: a module copies from the host while it runs. Whether the tensor could be made on the device is not.
std::optional<Found> host_tensors(const Recording& recording) {
  const Copies copies = copies_to_device(recording, [](const attribution::Work& work) { return work.owner.works_for_module(); });
  if (copies.count == 0) return std::nullopt;
  return Found{.evidence = evidence_of(copies, "copy to the device inside the model", "copies to the device inside the model"),
               .assumes = {"the tensors can be made on the device (device=…), or once before training (register_buffer)"},
               .node = first(recording, copies.launches),
               .change = without(copies.launches)};
}

}  // namespace hotlens::rules
