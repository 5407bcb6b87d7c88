// What a training loop does on its main thread, at the top: fetches, operators and updates in order.
#pragma once

#include <optional>
#include <vector>

#include "annotator/attribution/steps/passes.h"
#include "annotator/attribution/structure/forest.h"

namespace hotlens::attribution {

struct Mark {
  enum class What : std::uint8_t {
    data,        // a fetch
    update,      // an optimizer's step
    zero_grad,   // gradients set to zero
    forward,     // an operator that runs with gradients
    evaluation,  // an operator of the forward that runs without gradients
    plain,       // any other operator that runs without gradients
    unused,      // an operator outside any forward that made a node which no pass goes back through: an update by hand, with gradients
    backward,    // an operator of autograd
  };
  What what = What::plain;
  Ns start{}, end{};
  std::uint32_t name = 0;  // of an operator: position in Trace::names
};

// True for an operator that made a node of autograd: the thread's next operator has a higher sequence number.
bool makes_node(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread, std::uint32_t node);

// True for an operator that takes its tensor out of autograd's graph.
bool detaches(const trace::Trace& trace, const Forest& forest, std::uint32_t node);

// By start. Outermost stages, and operators in none of them. Whether an operator runs with gradients is told by its sequence number; in a
// trace that has none all are `forward`.
std::vector<Mark> loop_marks(const trace::Trace& trace, const Forest& forest, const Forest::Thread& thread,
                             const std::vector<Pass>& passes);

// The first mark of a kind that starts in [from, to).
std::optional<Mark> first_mark(const std::vector<Mark>& marks, Mark::What what, Ns from, Ns to);
std::optional<Mark> last_mark(const std::vector<Mark>& marks, Mark::What what, Ns from, Ns to);

}  // namespace hotlens::attribution
