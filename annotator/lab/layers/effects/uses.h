// Where an edited value goes: an edited number, and every name that it gets, is followed through the text to where it is used.
//
// Known uses are arguments of layers and of what makes them, how often a layer is made, sizes that a replay follows (`methods.h`), and what
// is told to people. Any other use may change the step in a way that nobody follows: it is an Unclear at its line. Names are followed by
// their scope, attributes by their name alone, whosever they are.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "annotator/lab/layers/effects/places.h"

namespace hotlens::layers {

class Uses {
 public:
  using Why = std::optional<Unclear>;
  Uses(const Followed& edited, const Idle& idle, const Building& building);

  // Of an edited expression. Then `run` follows the names that it reached.
  Why value(Node node) {
    note_flags(node);
    return value(node, "");
  }
  // Of what came or went: a flag (`use_cache=False`) chooses what is done, where a number gives a size that shows in what is made.
  void note_flags(Node edited);
  // What a statement that came or went gives a value.
  void targets(Node left, Node right = {});
  // A parameter whose default value came, went or changed.
  void parameter(Node function, Node parameter);
  // What a call of the project's own is given under this name, or at this place (of all: where it is not known).
  void argument(Node call, Node argument);
  Why run();

  // Sizes of what the script or a function of it makes.
  const std::vector<Sized>& sized() const { return sized_; }
  // Whether it bounds what the script draws at random: `torch.randint(words, …)`.
  bool draws() const { return draws_; }
  // Whether the edited texts have the word anywhere.
  bool mentions(const std::string& name) const { return !names_.spelled(name).empty(); }

 private:
  using Name = std::tuple<const void*, std::string, bool>;  // scope (null: any), name, attribute

  Why value(Node node, const std::string& name);
  Why occurrence(Node node, const Named& open);
  Why elsewhere(Node use, const std::string& name);
  static Why unknown(Node use, const std::string& name);
  std::optional<Why> in_call(Node call, Node given, const std::string& name);
  Why result(Node function, const std::string& name);
  void add(Node scope, const std::string& name, bool attribute = false);
  void target(Node node);
  void note_size(Node use);
  bool give(Node definition, Node call, Node argument);
  void give_field(Node type, std::size_t place, const std::string& keyword);
  void give_rest(Node function, const std::string& rest, const std::string& keyword);
  Why keeps_rest(Node call, Node given, const std::string& name);

  const Followed& edited_;
  const Idle& idle_;
  const Building& building_;
  const Names names_;
  const Places places_;
  std::set<std::string> flags_;                             // names under which such a flag was given
  std::set<std::string> fields_;                            // of packages' configurations, that were given
  std::set<std::pair<const void*, std::string>> defaults_;  // parameters whose default value was edited
  std::set<const void*> keeping_;                           // functions that keep what they get as `**rest` under its names
  std::set<const void*> unnamed_;                           // …whose rest was given something without a name
  Why lost_;  // the use of a rest that was taken for named before something came without a name
  bool draws_ = false;
  std::vector<Sized> sized_;
  std::set<const void*> sizing_;  // their calls
  std::set<Name> seen_;
  std::deque<Named> open_;
};

}  // namespace hotlens::layers
