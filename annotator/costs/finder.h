// Which operator of a host's tree stands for a piece of work, and what it costs.
//
// A composite and the operators inside it may all have a rule. Of arithmetic the innermost counts: it has the types that were really
// multiplied. Of what moves data the outermost does: what it calls is part of it. Nothing counts twice.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "annotator/attribution/structure/forest.h"
#include "annotator/kernels/costs/cost.h"
#include "annotator/trace/trace.h"

namespace hotlens::costs {

// What operators were given: by themselves, or in a bundle by their twins of the map step, which had its shapes recorded.
struct Given {
  const trace::Inputs& inputs;
  const trace::Names& text;
  const std::vector<std::uint32_t>* twin = nullptr;  // by node: an event of `inputs`, kNoNode where none is certain; null: the node's own
};

class Finder {
 public:
  // All must outlive this.
  Finder(const trace::Trace& trace, const attribution::Forest& forest, const Given& given);

  // The operator (a node) that work inside or launched at `node` is done for; kNoNode where none has a known cost. Amortised O(1).
  std::uint32_t operator_of(std::uint32_t node);
  // Of a node that operator_of() gave.
  const kernels::Cost& cost(std::uint32_t found) const { return kinds_[kind_of_[found]].cost; }

  // Operators of one name, equal shapes, types and values have one number.
  struct Kind {
    std::uint32_t example = 0;  // a node
    kernels::Cost cost;
  };
  std::uint32_t kind_of(std::uint32_t found) const { return kind_of_[found]; }
  const std::vector<Kind>& kinds() const { return kinds_; }
  std::string_view shapes(std::uint32_t found) const;

 private:
  enum class Rule : std::uint8_t { unknown, none, move, arithmetic };

  Rule rule_of(std::uint32_t node);
  std::optional<std::size_t> row_of(std::uint32_t node) const;
  bool has_cost(std::uint32_t node);
  bool hands_on(std::uint32_t node);
  std::uint32_t settled(std::uint32_t node, std::uint32_t outer);

  const trace::Trace& trace_;
  const attribution::Forest& forest_;
  Given given_;
  std::vector<Rule> rules_;             // by name
  std::vector<std::uint32_t> found_;    // by node: kUnknown, or what operator_of() says
  std::vector<std::uint32_t> kind_of_;  // by node: kUnknown, kNoNode: no cost, or its kind
  std::vector<Kind> kinds_;
  std::map<std::array<std::uint32_t, 4>, std::uint32_t> known_;  // by name, shapes, types, values
};

}  // namespace hotlens::costs
