// Python functions that make the next batch, in a trace with stacks whose loop has no DataLoader: a generator, `get_batch()`.
//
// Such a function runs on the thread of the model between two turns of its loop: after whatever the turn before did, right before a call of
// the model, and holds nothing of the loop itself. Position alone would take a log or an optimizer of one's own for it, so one of these has
// to be seen as well: it is a generator (entered again at the line where it stopped, so that one function begins at several lines), its
// name says that it loads, or an operator in it makes a tensor out of none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "annotator/attribution/structure/meaning.h"
#include "annotator/trace/trace.h"

namespace hotlens::attribution {

// Events of the outermost calls, by thread and start; none where a range says already what loads. `meanings`: by event.
std::vector<std::uint32_t> python_fetches(const trace::Trace& trace, std::span<const Meaning> meanings);

}  // namespace hotlens::attribution
