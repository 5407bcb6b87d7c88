#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

constexpr Ns kShort = std::chrono::microseconds(5);  // about what the host takes to launch it

bool launches(const attribution::Piece& piece) {
  return piece.bucket != attribution::Bucket::waiting && piece.bucket != attribution::Bucket::data_loading &&
         piece.bucket != attribution::Bucket::host_to_device;
}

}  // namespace

// Certain: the device idles because launches come late (the verdict says so). Which of the three ways fits the model is not told.
std::optional<Found> fewer_launches(const Recording& recording) {
  if (recording.account.work.empty() || recording.profile.verdict.kind != "launch") return std::nullopt;
  const Sum brief = sum(recording, [](const attribution::Work& work) { return work.end - work.start < kShort; });
  const attribution::StepAccount& step = recording.step();
  std::vector<profile::Verdict::Evidence> evidence{{"the device idles", step.window.end - step.window.start - step.device, ""}};
  if (brief.works > 0) evidence.push_back({counted(brief.works, "kernel is", "kernels are") + " shorter than a launch", brief.device, ""});
  return Found{.evidence = std::move(evidence),
               .assumes = {"a larger batch, torch.compile or CUDA graphs keep the device busy"},
               .node = attribution::kNoNode,
               .change = {.work = {}, .host = [](const attribution::Piece& piece) { return launches(piece) ? 0.0 : 1.0; }, .unwaited = {}}};
}

}  // namespace hotlens::rules
