#include "server/text/foot.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "annotator/common/format.h"
#include "annotator/kernels/kernel_name.h"
#include "annotator/profile/place_name.h"
#include "server/features/timeline/facts.h"
#include "server/text/words.h"

namespace hotlens::text {
namespace {

using blocks::Blocks;
using blocks::kNoBlock;
using features::Use;
using format::readable;
using profile::Profile;

constexpr std::size_t kMostUses = 4;

// The device may be busy for longer than the host takes: nobody believes 103 %.
std::string part_of(Ns part, Ns whole, std::string_view of) {
  const double share = static_cast<double>(part.count()) / static_cast<double>(whole.count());
  return share > 1.005 ? fmt::format("as long as {:.2f} {}s", share, of) : fmt::format("{:.1f} % of the {}", 100 * share, of);
}

std::string short_name(const Use& use) {
  return (use.device ? kernels::kernel_name(use.name) : kernels::operator_name(use.name)).label;
}

// Longest first; those that a line cannot tell apart are one.
std::vector<Use> by_short_name(const std::vector<Use>& uses) {
  std::map<std::string, Use> named;
  for (const Use& use : uses) {
    std::string name = short_name(use);
    if (name.starts_with("aten::")) name.erase(0, 6);
    Use& all = named.try_emplace(name, Use{.name = name}).first->second;
    all.calls += use.calls;
    all.time += use.time;
  }
  std::vector<Use> list;
  for (auto& [name, use] : named) list.push_back(std::move(use));
  std::ranges::stable_sort(list, std::greater{}, &Use::time);
  return list;
}

void add_uses(std::vector<std::string>& lines, std::string_view what, const std::vector<Use>& uses) {
  if (uses.empty()) return;
  std::vector<std::string> told;
  const std::vector<Use> all = by_short_name(uses);
  const std::size_t shown = std::min(kMostUses, all.size());
  for (const Use& use : std::span(all).first(shown)) told.push_back(fmt::format("{} ×{} {}", use.name, use.calls, readable(use.time)));
  Ns rest{};
  for (const Use& use : std::span(all).subspan(shown)) rest += use.time;
  if (shown < all.size()) told.push_back(fmt::format("{} more {}", all.size() - shown, readable(rest)));
  lines.push_back(fmt::format("  {}: {}", what, fmt::join(told, " · ")));
}

void add_times(std::vector<std::string>& lines, const features::BlockTimes& times) {
  std::vector<std::string> known;
  const auto add = [&](std::string_view what, Ns time) {
    if (time > Ns{}) known.push_back(fmt::format("{} {}", what, readable(time)));
  };
  add("CPU", times.host);
  add("device", times.device);
  add("waiting", times.waiting);
  if (!known.empty()) lines.push_back(fmt::format("  {}", fmt::join(known, " · ")));
}

void add_verdict(std::vector<std::string>& lines, const profile::Verdict& verdict) {
  std::vector<std::string> evidence;
  for (const profile::Verdict::Evidence& each : verdict.evidence) evidence.push_back(each.what);
  lines.push_back(fmt::format("  {}{}{}", spaced(verdict.kind), evidence.empty() ? "" : ": ", fmt::join(evidence, ", ")));
}

std::string near_to(const std::string& file, const Near& near) {
  const auto below = [&](const std::string& folder) { return !folder.empty() && file.starts_with(folder + "/"); };
  if (below(near.folder)) return file.substr(near.folder.size() + 1);
  return below(near.home) ? "~" + file.substr(near.home.size()) : file;
}

}  // namespace

std::string chosen_line(const features::ShownTrack& track, const features::ShownBlock& block, Ns whole, std::string_view of) {
  const std::string share = whole > Ns{} ? " · " + part_of(block.busy, whole, of) : "";
  return fmt::format("▸ {} · {} · {}{} · {}", name_of(track, block), block.kind, busy_of(block), share, track.name);
}

std::vector<std::string> details_of(const Blocks& blocks, const Profile& profile, std::uint32_t block, const Near& near) {
  std::vector<std::string> lines;
  add_times(lines, features::times_of(blocks, block));
  if (const auto verdict = features::verdict_of(blocks, profile, block)) add_verdict(lines, *verdict);
  const std::vector<Use> uses = features::uses_of(blocks, block);
  for (const Use& use : std::span(uses).first(std::min(kMostUses, uses.size()))) {
    lines.push_back(fmt::format("  {}  {} ×{}", readable(use.time), short_name(use), use.calls));
  }
  for (const features::Place& place : features::places_of(blocks, profile, block)) {
    const profile::SourceFile& file = profile.files[place.site.file.index];
    lines.push_back(
        fmt::format("  {} {}", profile::place_name(near_to(file.path.string(), near), file, place.site.line), name(place.what)));
  }
  return lines;
}

std::optional<std::string> memory_line(const Blocks& blocks, const Profile& profile, std::uint32_t block) {
  const profile::MemoryAtPeak& peak = profile.at_peak;
  if (!peak.moment) return std::nullopt;
  const std::string of = peak.moment->module.valid() ? profile.at(peak.moment->module).path : "";
  const profile::ModuleId id = block == kNoBlock ? profile::ModuleId{} : features::module_of(blocks, profile, block);
  const Bytes held = id.valid() ? profile::held_at_peak(profile, id) : Bytes{};
  return fmt::format("  memory at most {}, in {}{}{}{}", readable(peak.total), spaced(name(peak.moment->stage)), of.empty() ? "" : " of ",
                     of, held > Bytes{} ? ": " + readable(held) + " of it here" : "");
}

std::vector<std::string> lines_of(const features::RangeSums& sums, Moments window) {
  const Ns length = std::max(Ns(1), window.length());
  const std::string busy = sums.device > Ns{}
                               ? fmt::format(", the device busy for {} ({:.0f} %)", readable(sums.device),
                                             100 * static_cast<double>(sums.device.count()) / static_cast<double>(length.count()))
                               : "";
  std::vector<std::string> lines{
      fmt::format("Σ {}, from {} to {}{}", readable(window.length()), readable(window.from), readable(window.to), busy)};
  add_uses(lines, "kernels", sums.kernels);
  add_uses(lines, "operators", sums.operators);
  return lines;
}

}  // namespace hotlens::text
