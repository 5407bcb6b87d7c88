// What rules share: marking host nodes with all that they run, and summing what is marked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "annotator/advice/rules/rules.h"
#include "annotator/common/format.h"

namespace hotlens::rules {

// By node of the forest.
using Marks = std::vector<bool>;

// Whether anything in the recording has this name. A rule asks first: most recordings lack what it looks for, and their nodes are many.
bool knows(const Recording& recording, std::string_view name);

// The nodes for which `is` holds, and everything inside them.
Marks marked(const Recording& recording, const std::function<bool(std::uint32_t node)>& is);
// The nodes with such a name, each name asked for once, and everything inside them. Empty where no name is such a one.
Marks named(const Recording& recording, const std::function<bool(std::string_view name)>& is);
// The same with the backward of what is marked.
Marks with_backward(const Recording& recording, Marks marks);

bool has(const Marks& marks, const attribution::Work& work);    // it was launched there
bool has(const Marks& marks, const attribution::Piece& piece);  // its innermost node lies there

// Takes away host time, waiting and device work of marked nodes.
causes::Change without(Marks marks);
// Takes away device work alone.
causes::Change without_work(std::function<bool(const attribution::Work&)> is);

// Of the representative step.
struct Sum {
  Ns host{}, device{};  // host: of the main thread
  std::int64_t works = 0;
};
Sum sum(const Recording& recording, const Marks& marks);
Sum sum(const Recording& recording, const std::function<bool(const attribution::Work&)>& is);
// Device time where there is a device, else host time.
Ns shown(const Recording& recording, const Sum& sum);

using format::counted;

// The first marked node of the representative step; kNoNode where there is none.
std::uint32_t first(const Recording& recording, const Marks& marks);

}  // namespace hotlens::rules
