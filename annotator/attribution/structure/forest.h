// Host events nested per thread: which operator, launch, stage range, module frame or marker runs inside which, and which forward operator
// created the autograd node that a backward operator runs.
//
// Nodes of one thread lie together, sorted by start, longer first, then file order, so a parent stands before its children and the
// descendants of a node follow it without a gap. Python frames other than modules and ranges that mean nothing to us are left out: such
// ranges cross Python frames instead of nesting.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "annotator/attribution/structure/meaning.h"
#include "annotator/trace/trace.h"

namespace hotlens::attribution {

constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

struct Forest {
  struct Thread {
    trace::ThreadId id;
    std::uint32_t process = 0;         // number of the process among those of `threads`
    std::uint32_t begin = 0, end = 0;  // nodes
  };

  std::vector<std::uint32_t> event;   // index into trace.events
  std::vector<std::uint32_t> parent;  // node, or kNoNode
  std::vector<Kind> kind;
  std::vector<std::uint32_t> value;
  std::vector<Ns> start, end;
  std::vector<std::uint32_t> creator;  // of a backward operator: the node of the forward operator that created it; else kNoNode
  std::vector<Thread> threads;         // with at least one node
  std::vector<std::uint32_t> node_of;  // by event; kNoNode where the event is no node
  std::vector<Traits> traits;          // by NameId; of operators, launches and device work

  std::size_t size() const { return event.size(); }
  const Traits& traits_at(const trace::Trace& trace, std::uint32_t node) const { return traits[trace.events.name[event[node]].index]; }
  bool is_stage(std::uint32_t node, Stage stage) const {
    return kind[node] == Kind::stage && value[node] == static_cast<std::uint32_t>(stage);
  }
};

// `ranges`: whether the ranges that a person put around something are nodes too (module_forest leaves those that are no module out).
Forest nest(const trace::Trace& trace, bool ranges = true);

// True for an operator that runs an autograd node.
bool runs_backward(const trace::Trace& trace, const Forest& forest, std::uint32_t node);

// The node after the last descendant of `node`, at most `end`.
std::uint32_t after_descendants(const Forest& forest, std::uint32_t node, std::uint32_t end);

// The first node of the thread that starts at `when` or later; Thread::end where there is none.
std::uint32_t first_from(const Forest& forest, const Forest::Thread& thread, Ns when);

// The innermost node of a thread at instants in order of time. A node holds its start and, with `ends_included`, its end. O(1) for an
// instant, amortised, however deep the nodes lie.
class Innermost {
 public:
  // `forest` must outlive this.
  Innermost(const Forest& forest, const Forest::Thread& thread, bool ends_included)
      : forest_(&forest), next_(thread.begin), end_(thread.end), ends_included_(ends_included) {}

  // kNoNode where the thread runs none; `when` is no earlier than at the call before.
  std::uint32_t at(Ns when);

 private:
  const Forest* forest_;
  std::uint32_t next_, end_;
  bool ends_included_;
  std::uint32_t open_ = kNoNode;
};

// The forest without the nodes that `keep` denies, their children handed to the nearest node kept.
Forest pruned(const Forest& forest, const std::vector<bool>& keep);

}  // namespace hotlens::attribution
