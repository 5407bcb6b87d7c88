// The tree of modules as they call each other: a row per module and caller.
//
// A module that several others call (a rotary embedding that all layers share, one block used four times) has a row under each of them, so
// that time counts where it was called and what lies below a row never takes longer than it. Of a model whose modules are known the first
// rows are these, in their own tree; a call from anywhere else than from within that tree adds a row below its caller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

struct CalledModule {
  std::uint32_t module = kNothing;  // the number it had as value of a call
  std::uint32_t parent = kNothing;  // row
  std::uint32_t first = 0;          // the first row of the same module: of a known one its own place in the model
};

struct CallTree {
  std::vector<CalledModule> rows;          // parents before children
  std::vector<std::uint32_t> row_of_call;  // by link of `calls`
};

// `parents`: by known module, kNothing for a root; empty where only the calls tell which modules there are. No row is deeper than kDeepest
// levels: what would be stands beside its caller. Cost: O(calls · depth of the known tree).
CallTree call_tree(const Chains& calls, std::span<const std::uint32_t> parents);

}  // namespace hotlens::attribution
