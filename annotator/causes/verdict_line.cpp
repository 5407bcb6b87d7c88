#include "annotator/causes/verdict_line.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "annotator/profile/loop.h"

namespace hotlens::causes {
namespace {

using profile::Cause;
using profile::Profile;

bool is_most(const VerdictLine& line) {
  return line.time * 2 > line.whole;
}

bool is_own(const Profile& profile, profile::FileId file) {
  return file.valid() && profile.files.at(file.index).workspace;
}

std::optional<VerdictLine> line_of_data(const Profile& profile) {
  const auto stage = std::ranges::find(profile.stages, profile::Stage::data, &profile::StageTimes::stage);
  if (stage == profile.stages.end()) return std::nullopt;
  std::optional<VerdictLine> most;
  for (const profile::StageSite& site : profile.stage_sites) {
    if (site.stage != profile::Stage::data || site.counted_at || !is_own(profile, site.site.file)) continue;
    const VerdictLine line{site.site.file, site.site.line, profile.shown(site.wall), profile.shown(stage->wall)};
    if (is_most(line) && (!most || line.time > most->time)) most = line;
  }
  return most;
}

// Lines that each have more than half of one whole lie in one another, and what is inside has no more than what is around it.
template <class TimeOf>
std::optional<VerdictLine> innermost(const Profile& profile, Ns whole, TimeOf time_of) {
  std::optional<VerdictLine> inner;
  for (const profile::Line& each : profile.lines) {
    const VerdictLine line{each.file, each.line, time_of(each), whole};
    if (is_own(profile, each.file) && is_most(line) && (!inner || line.time < inner->time)) inner = line;
  }
  return inner;
}

std::optional<VerdictLine> line_of_waiting(const Profile& profile) {
  const auto bucket = std::ranges::find(profile.buckets, profile::Bucket::waiting, &profile::BucketTimes::bucket);
  const Ns whole = bucket == profile.buckets.end() ? Ns{} : profile.shown(bucket->wall);
  return innermost(profile, whole, [&](const profile::Line& line) {
    return std::min(profile.shown(line.forward).waiting + profile.shown(line.backward).waiting, whole);
  });
}

}  // namespace

std::optional<VerdictLine> line_of_cause(const Profile& profile, Cause cause) {
  const auto at = static_cast<std::size_t>(cause);
  return innermost(profile, profile.spent[at], [&](const profile::Line& line) { return line.spent[at]; });
}

std::optional<VerdictLine> line_of_verdict(const Profile& profile) {
  if (profile.guessed || (profile.loop && is_mostly_rare(*profile.loop))) return std::nullopt;
  const std::string_view kind = profile.verdict.kind;
  if (kind == name(Cause::data)) return line_of_data(profile);
  if (kind == name(Cause::sync)) return line_of_waiting(profile);
  for (const Cause cause : {Cause::launch, Cause::copy, Cause::communication}) {
    if (kind == name(cause)) return line_of_cause(profile, cause);
  }
  return std::nullopt;
}

}  // namespace hotlens::causes
