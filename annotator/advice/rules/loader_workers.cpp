#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {

// Certain: batches are made by the process that trains, and the step passes its time with it.
std::optional<Found> loader_workers(const Recording& recording) {
  const Marks loading =
      named(recording, [](std::string_view name) { return name.starts_with("enumerate(DataLoader)#_SingleProcessDataLoaderIter"); });
  if (loading.empty()) return std::nullopt;
  const Sum spent = sum(recording, loading);
  if (spent.host <= Ns{}) return std::nullopt;
  return Found{.evidence = {{"the training process makes the batches itself", spent.host, ""}},
               .assumes = {"processors are free for the workers, and they are as fast as this process"},
               .node = first(recording, loading),
               .change = without(loading)};
}

}  // namespace hotlens::rules
