#include "server/features/lines/line_parts.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace hotlens::features {
namespace {

using profile::ModuleId;
using source::Role;

// A rest below this share of the line is rounding and bookkeeping.
constexpr double kTelling = 0.05;

bool is_called_only_here(const FileView& view, ModuleId id) {
  return view.facts->call_places.at(id.index) == 1;
}

// The placed calls of the line by column.
std::vector<std::uint32_t> calls_of(const FileView& view, const std::vector<std::uint32_t>& facts) {
  std::vector<std::uint32_t> calls;
  std::ranges::copy_if(facts, std::back_inserter(calls),
                       [&](std::uint32_t fact) { return view.facts->anchors.facts()[fact].role == Role::call; });
  std::ranges::sort(calls, {}, [&](std::uint32_t fact) {
    const source::Range& range = view.placements[fact].range;
    return std::pair(range.begin, range.end);
  });
  return calls;
}

}  // namespace

std::vector<LinePart> parts_of(const FileView& view, const LineSummary& summary, const std::vector<std::uint32_t>& facts) {
  if (summary.subject != Subject::execution) return {};
  const std::vector<std::uint32_t> calls = calls_of(view, facts);
  if (calls.size() < 2) return {};
  std::vector<LinePart> parts;
  std::vector<ModuleId> all;
  for (std::uint32_t fact : calls) {
    const LineSummary call = summarize_facts(view, {fact});
    const bool known =
        !call.call_sites.empty() || std::ranges::all_of(call.modules, [&](ModuleId id) { return is_called_only_here(view, id); });
    if (!known || call.modules.empty() || call.value <= Ns{}) continue;
    parts.push_back({.range = call.range, .modules = call.modules, .value = call.value});
    all.insert(all.end(), call.modules.begin(), call.modules.end());
  }
  // A module inside another one of the line would be counted twice.
  const std::set<ModuleId> distinct(all.begin(), all.end());
  if (outermost(*view.profile, all).size() != distinct.size()) return {};
  const Ns sum = std::accumulate(parts.begin(), parts.end(), Ns{}, [](Ns total, const LinePart& part) { return total + part.value; });
  const auto whole = static_cast<double>(summary.value.count());
  const auto rest = static_cast<double>((summary.value - sum).count());
  if (rest < -kTelling * whole) return {};
  if (rest > kTelling * whole) parts.push_back({.range = {}, .modules = {}, .value = summary.value - sum});
  return parts.size() < 2 ? std::vector<LinePart>{} : parts;
}

}  // namespace hotlens::features
