// What the statements of `forward` call, read from the text: `x = self.act(self.fc(x))` calls two layers in turn.
//
// A call with one tensor is a step: of `self.name`, of an entry of a list that a loop goes through, of a function of torch, or of a method
// of the tensor. Steps that hand one tensor on, in an expression or from statement to statement, are a chain.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/match/parts.h"

namespace hotlens::layers {

// Whether a condition holds, where that is known: `self.dropout is not None`.
using Holds = std::function<std::optional<bool>(Node condition)>;

// How the methods of a module are read.
struct Reading {
  Holds holds;
  Parts parts;
  std::set<std::string> inlined = {};  // parts that only hand on what they get: a call of one is what it calls
};

// The end of a step's path that stands for each entry of a list in turn: "blocks.*" where `block` of `for block in self.blocks:` is called.
constexpr std::string_view kEach = ".*";

// `base`, then what is called on it in order; `target`: the name that it is given.
struct Chain {
  Node base, node;
  std::string target;
  std::vector<Step> steps;
};

// Of an expression: what is called within what is called.
Chain chain_of(Node expression, const Reading& reading);
// Of the statements of a block, in order. A statement that is no assignment of a name is a chain without a target.
std::vector<Chain> chains_of(Node block, const Reading& reading);
// What a part calls that only hands on what it gets; nullopt: it does more.
std::optional<std::vector<Step>> steps_of_part(const std::string& name, const Reading& reading);
// Of a call with one tensor, and the tensor.
std::optional<std::pair<Step, Node>> step_of(Node call);

// Equal where two steps call the same with the same arguments.
std::string key(const Step& step);
// "relu" of `F.relu`, `torch.relu(x)` and `x.relu()`; of a step that is a function.
std::string function_name(const Step& step);
// Whether it is in a loop of its function.
bool is_repeated(Node node);
// "F" of `F.relu(x)` where the file imports no such module; empty: there is none.
std::string_view missing_module(Node code);
Lines lines_of(Node code);
// Of a whole statement that computes this value, which its last operator gives. Nullopt: that is not sure.
std::optional<Lines> lines_of_value(Node value);

}  // namespace hotlens::layers
