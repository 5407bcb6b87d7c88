#include "annotator/profile/one_step.h"

#include <utility>

namespace hotlens::profile {
namespace {

template <class T>
void keep(std::vector<T>& values, std::size_t position) {
  if (position >= values.size()) return;
  T kept = std::move(values[position]);
  values.clear();
  values.push_back(std::move(kept));
}

}  // namespace

void keep_step(Profile& profile, std::size_t position) {
  keep(profile.steps, position);
  for (StageTimes& stage : profile.stages) {
    for (auto* values : {&stage.wall, &stage.cpu, &stage.device, &stage.waiting}) keep(*values, position);
  }
  for (BucketTimes& bucket : profile.buckets) {
    for (auto* values : {&bucket.wall, &bucket.device}) keep(*values, position);
  }
  for (Module& module : profile.modules) {
    for (auto* times : {&module.forward, &module.backward}) keep(*times, position);
  }
  for (OneOf& some : profile.one_of) {
    for (auto* times : {&some.forward, &some.backward}) keep(*times, position);
  }
  for (Line& line : profile.lines) {
    for (auto* times : {&line.forward, &line.backward}) keep(*times, position);
  }
  for (CallSite& call : profile.call_sites) {
    for (auto* times : {&call.forward, &call.backward}) keep(*times, position);
  }
  for (StageSite& stage : profile.stage_sites) {
    for (auto* values : {&stage.wall, &stage.cpu, &stage.device, &stage.waiting}) keep(*values, position);
  }
  profile.representative = 0;
  profile.profiled_step = profile.step_wall();
}

}  // namespace hotlens::profile
