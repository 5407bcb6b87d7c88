// Which layer of the edited model is which of the recorded one: those that came, went, moved on by a place or are of another kind.
//
// Children of a module are matched by name; entries of containers in order, as few as possible coming and going.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

struct Line {
  std::string file;
  std::int64_t line = -1;  // from 0
};

struct Unclear {
  std::string reason, module = {};
  Line at = {};
  std::string op = {};
};

// A call that makes or shapes a tensor of an edited size outside of every module: `torch.randn(8, noise)`.
struct Sized {
  std::string maker;        // "randn"; empty: not known
  bool in_modules = false;  // in a function that methods of modules call
  Line at;
};

Line line_of(Node node);
bool is_module(const Ref& value);
// "Linear" of torch.nn.Linear.
std::string class_name(const Value& object);
// A container that calls its entries one after another, by torch.nn.Sequential's own forward.
bool is_sequence(const Value& module);

// A call: of a layer, by its path; or of a function (`F.relu(x)`) or method (`x.flatten(1)`), then `function` names it.
struct Step {
  std::string path, function = {};
  Node at = {};  // of a function: the call
};

// A list whose loop does more with each entry than hand on what it gives.
struct Rounds {
  const void* loop = nullptr;        // the same for lists that one loop goes through
  std::vector<std::string> entries;  // recorded paths of all
  std::vector<std::string> layers;   // what of an entry is called: "", or ".0" and ".1" of one that is itself a list
};

// First and last line of a piece of code, counted from 1.
using Lines = std::pair<std::int64_t, std::int64_t>;

// A place where calls went, came or both: of layers that went or came, or in an edited `forward`. Where it is in the recording is where
// `removed` is called, else between `before` and `after`. Paths are recorded ones but in `inserted`.
struct Gap {
  std::string holder;     // edited path of the module around it
  bool sequence = false;  // each call takes what the one before gave
  std::vector<Step> removed, inserted;
  std::vector<Step> before, after;   // calls that stay, the nearest first
  std::string recorded_holder = {};  // of an edited `forward`
  Line at = {};                      // of an edited `forward`, in the edited text
  std::optional<Lines> value = {};   // of the recorded statement whose value `inserted` gets: `x = torch.cat([x, skip])`
  bool of_names = false;             // that is made of variables alone, which live on until the method returns: `y = x + skip`
  std::optional<Rounds> rounds = {};
  bool gathered = false;  // of a list whose entries take the same, and whose results are taken together
  bool rebinds = false;   // what is inserted before `after` is what everything after it takes
  bool in_part = false;   // of a method that `forward` calls
  bool named = false;     // what was called took a variable that lives on until the method returns: `y = F.gelu(x)` is `y = x` now
  bool branches = false;  // what is inserted takes what the module takes, and an operator of the module's own takes the result
  bool is_forward() const { return at.line >= 0; }
};

struct Alignment {
  std::map<std::string, std::string> kept;    // edited path to recorded path
  std::map<std::string, std::string> models;  // of new layers of a kind that is known from others: edited path to that of the other
  std::vector<std::string> order;             // edited paths, as named_modules() has them
  std::vector<Gap> gaps;
  std::set<const void*> compared;  // functions of the executed text that were compared call by call, by their definitions
  std::set<std::string> optional;  // edited paths that are None in one text and a layer in the other, where `forward` only asks for that
};

// Of another model, whose paths begin with `path`.
void add(Alignment& to, Alignment of, const std::string& path);

// `skips`: uses in the edited text that have no part in the step.
std::expected<Alignment, Unclear> align(const Ref& was, const Ref& is, const std::function<bool(Node)>& skips);

}  // namespace hotlens::layers
