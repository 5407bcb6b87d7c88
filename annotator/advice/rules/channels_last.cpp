#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

bool is_conversion(std::string_view name) {
  return name.contains("nchwToNhwc") || name.contains("nhwcToNchw") || name.contains("nchwToFoldedNhwc") ||
         name.contains("foldedNhwcToNchw") || name.contains("nchw2nhwc") || name.contains("nhwc2nchw");
}

}  // namespace

// Certain: kernels that only change the layout of images, around convolutions that want another one. Whether everything between the
// convolutions is as fast in that layout is not told.
std::optional<Found> channels_last(const Recording& recording) {
  std::vector<bool> converting(recording.trace.names.size());
  for (std::uint32_t at = 0; at < converting.size(); ++at) converting[at] = is_conversion(recording.trace.names[trace::NameId{at}]);
  const auto converts = [&recording, converting](const attribution::Work& work) {
    return converting[recording.trace.events.name[work.event].index];
  };
  const Sum spent = sum(recording, converts);
  if (spent.works == 0) return std::nullopt;
  return Found{.evidence = {{counted(spent.works, "kernel converts", "kernels convert") + " between NCHW and NHWC", spent.device, ""}},
               .assumes = {"model and images are in torch.channels_last"},
               .node = attribution::kNoNode,
               .change = without_work(converts)};
}

}  // namespace hotlens::rules
