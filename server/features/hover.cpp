#include <optional>

#include "server/features/describe.h"
#include "server/features/features.h"
#include "server/features/line_summary.h"

namespace hotlens::features {
namespace {

using Placement = source::Anchors::Placement;

bool contains(const source::Range& range, source::Position at) {
  return range.begin <= at && at <= range.end;
}

bool is_inside(const source::Range& inner, const source::Range& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool is_line_fact(const FileView& view, std::uint32_t fact) {
  return view.facts->anchors.facts()[fact].role == source::Role::line;
}

// The smallest placed expression around `at`, and the facts that stand on exactly that expression.
std::vector<std::uint32_t> facts_at(const FileView& view, source::Position at) {
  std::optional<source::Range> focus;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const Placement& placement = view.placements[fact];
    if (placement.state == source::State::orphan || is_line_fact(view, fact) || !contains(placement.range, at)) continue;
    if (!focus || is_inside(placement.range, *focus)) focus = placement.range;
  }
  std::vector<std::uint32_t> facts;
  if (!focus) return facts;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    if (!is_line_fact(view, fact) && view.placements[fact].range == *focus && view.placements[fact].state != source::State::orphan) {
      facts.push_back(fact);
    }
  }
  return facts;
}

}  // namespace

std::optional<Hover> hover(const FileView& view, source::Position at, const Options& options) {
  if (!view.facts || !view.profile) return std::nullopt;
  if (const std::vector<std::uint32_t> facts = facts_at(view, at); !facts.empty()) {
    const LineSummary summary = summarize_facts(view, facts);
    return Hover{summary.range, describe(summary, *view.profile, options)};
  }
  const std::vector<LineSummary> line = summarize(view, {at.line, at.line + 1});
  if (line.empty() || line.front().value <= Ns{}) return std::nullopt;
  return Hover{line.front().range, describe(line.front(), *view.profile, options)};
}

}  // namespace hotlens::features
