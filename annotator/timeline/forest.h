// Host events nested per thread: which operator, launch, stage range, module frame or marker runs inside which.
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

#include "annotator/timeline/stage.h"
#include "annotator/trace/trace.h"

namespace hotlens::timeline {

constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

enum class Kind : std::uint8_t {
  op,      // an operator, autograd's included
  launch,  // a call of the device's runtime or driver
  stage,   // a range that stands for a stage; value: Stage
  frame,   // a Python frame of a module call; value: NameId of the instance
  call,    // marker of a module call; value: id
  line,    // marker of a source line; value: id
  param,   // marker of a parameter's gradient accumulation; value: id
  step,    // ProfilerStep#N; value: N
  none,
};

// What a name means, decided once per name and not per event.
struct Meaning {
  Kind kind = Kind::none;
  std::uint32_t value = 0;
};
Meaning meaning_of_range(std::string_view name);

// Traits of operators and launches that their names tell.
struct Traits {
  bool backward = false;      // runs an autograd node
  bool accumulates = false;   // AccumulateGrad
  bool communicates = false;  // a collective of NCCL, Gloo, MPI…
  bool waits = false;         // synchronises with the device
  bool moves = false;         // may move a tensor to another device
};
Traits traits_of(std::string_view name);

struct Forest {
  struct Thread {
    trace::ThreadId id;
    std::uint32_t begin = 0, end = 0;  // nodes
  };

  std::vector<std::uint32_t> event;   // index into trace.events
  std::vector<std::uint32_t> parent;  // node, or kNoNode
  std::vector<Kind> kind;
  std::vector<std::uint32_t> value;
  std::vector<Ns> start, end;
  std::vector<Thread> threads;         // with at least one node
  std::vector<std::uint32_t> node_of;  // by event; kNoNode where the event is no node
  std::vector<Traits> traits;          // by NameId

  std::size_t size() const { return event.size(); }
  const Traits& traits_at(const trace::Trace& trace, std::uint32_t node) const { return traits[trace.events.name[event[node]].index]; }
};

Forest nest(const trace::Trace& trace);

}  // namespace hotlens::timeline
