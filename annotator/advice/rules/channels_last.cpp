#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {

// Certain: kernels that only change the layout of images, around convolutions that want another one. Whether everything between the
// convolutions is as fast in that layout is not told.
std::optional<Found> channels_last(const Recording& recording) {
  const auto converts = [&recording](const attribution::Work& work) {
    const std::string_view name = recording.name(work);
    return name.contains("nchwToNhwc") || name.contains("nhwcToNchw") || name.contains("nchwToFoldedNhwc") ||
           name.contains("foldedNhwcToNchw") || name.contains("nchw2nhwc") || name.contains("nhwc2nchw");
  };
  const Sum spent = sum(recording, converts);
  if (spent.works == 0) return std::nullopt;
  return Found{.evidence = {{counted(spent.works, "kernel converts", "kernels convert") + " between NCHW and NHWC", spent.device, ""}},
               .assumes = {"model and images are in torch.channels_last"},
               .node = attribution::kNoNode,
               .change = without_work(converts)};
}

}  // namespace hotlens::rules
