#include "annotator/advice/rules/marks.h"

#include <memory>
#include <utility>

#include "annotator/attribution/structure/forest.h"

namespace hotlens::rules {

using attribution::kNoNode;
using attribution::Piece;
using attribution::Work;

namespace {

// Parents stand before their children.
void spread(const attribution::Forest& forest, Marks& marks) {
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t parent = forest.parent[node];
    if (parent != kNoNode && marks[parent]) marks[node] = true;
  }
}

}  // namespace

bool knows(const Recording& recording, std::string_view name) {
  for (std::uint32_t at = 0; at < recording.trace.names.size(); ++at) {
    if (recording.trace.names[trace::NameId{at}] == name) return true;
  }
  return false;
}

Marks marked(const Recording& recording, const std::function<bool(std::uint32_t)>& is) {
  Marks marks(recording.forest.size());
  for (std::uint32_t node = 0; node < recording.forest.size(); ++node) marks[node] = is(node);
  spread(recording.forest, marks);
  return marks;
}

Marks named(const Recording& recording, const std::function<bool(std::string_view)>& is) {
  std::vector<bool> wanted(recording.trace.names.size());
  bool any = false;
  for (std::uint32_t name = 0; name < wanted.size(); ++name) {
    wanted[name] = is(recording.trace.names[trace::NameId{name}]);
    any = any || wanted[name];
  }
  if (!any) return {};
  return marked(recording, [&](std::uint32_t node) { return wanted[recording.trace.events.name[recording.forest.event[node]].index]; });
}

Marks with_backward(const Recording& recording, Marks marks) {
  const attribution::Forest& forest = recording.forest;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t creator = forest.creator[node];
    if (creator != kNoNode && marks[creator]) marks[node] = true;
  }
  spread(forest, marks);
  return marks;
}

bool has(const Marks& marks, const Work& work) {
  return work.launch != kNoNode && marks[work.launch];
}

bool has(const Marks& marks, const Piece& piece) {
  return piece.node != kNoNode && marks[piece.node];
}

causes::Change without(Marks marks) {
  const auto kept = std::make_shared<const Marks>(std::move(marks));
  return {.work = [kept](const Work& work) { return has(*kept, work) ? 0.0 : 1.0; },
          .host = [kept](const Piece& piece) { return has(*kept, piece) ? 0.0 : 1.0; },
          .unwaited = [kept](const Piece& piece) { return has(*kept, piece); }};
}

causes::Change without_work(std::function<bool(const Work&)> is) {
  return {.work = [is = std::move(is)](const Work& work) { return is(work) ? 0.0 : 1.0; }, .host = {}, .unwaited = {}};
}

Sum sum(const Recording& recording, const std::function<bool(const Work&)>& is) {
  Sum total;
  for (const std::uint32_t i : recording.step().launched) {
    const Work& work = recording.account.work[i];
    if (!is(work)) continue;
    total.device += work.end - work.start;
    ++total.works;
  }
  return total;
}

Sum sum(const Recording& recording, const Marks& marks) {
  Sum total = sum(recording, [&](const Work& work) { return has(marks, work); });
  for (const Piece& piece : recording.step().wall) {
    if (has(marks, piece)) total.host += piece.end - piece.start;
  }
  return total;
}

Ns shown(const Recording& recording, const Sum& sum) {
  return recording.account.work.empty() ? sum.host : sum.device;
}

std::uint32_t first(const Recording& recording, const Marks& marks) {
  for (std::uint32_t node = 0; node < marks.size(); ++node) {
    if (marks[node] && recording.in_step(node)) return node;
  }
  return kNoNode;
}

}  // namespace hotlens::rules
