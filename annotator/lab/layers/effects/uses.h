// Where an edited value goes: an edited number, and every name that it gets, is followed through the text to where it is used.
//
// Known uses are arguments of layers and of what makes them, how often a layer is made, sizes that a replay follows (`methods.h`), and what
// is told to people. Any other use may change the step in a way that nobody follows: it is an Unclear at its line. Names are followed by
// their scope, attributes by their name alone, whosever they are.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "annotator/lab/layers/effects/building.h"
#include "annotator/lab/layers/effects/other_edits.h"
#include "annotator/lab/layers/match/alignment.h"

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

  // Whether it bounds what the script draws at random: `torch.randint(words, …)`.
  bool draws() const { return draws_; }
  // Whether the edited texts have the word anywhere.
  bool mentions(const std::string& name) const { return index_.contains(name); }

 private:
  using Name = std::tuple<const void*, std::string, bool>;  // scope (null: any), name, attribute
  struct Open {
    Node scope;
    std::string name;
    bool attribute = false;
  };

  Why value(Node node, const std::string& name);
  Why occurrence(Node node, const Open& open);
  bool calls_layer(Node use) const;
  bool bounds_list(Node use) const;
  bool is_compared(Node use) const;
  bool is_in_class_of_module(Node use) const;
  bool is_held_by_modules(Node use) const;
  bool is_size_in_loop(Node use) const;
  Why elsewhere(Node use, const std::string& name);
  static Why unknown(Node use, const std::string& name);
  std::optional<Why> in_call(Node call, Node given, const std::string& name);
  Why result(Node function, const std::string& name);
  void add(Node scope, const std::string& name, bool attribute = false);
  void target(Node node);
  Node scope_of(Node node, const std::string& name) const;
  bool followed(Node node) const;
  bool is_in_package_maker(Node node) const;
  bool never_runs(Node node) const;
  bool fills_nothing(Node loop) const;
  bool only_raises(Node choice) const;
  bool only_keeps(Node choice) const;
  bool is_inside_maker(Node node) const;
  bool chooses_layers(Node choice, Node condition) const;
  std::vector<Node> all_of(const Open& open) const;
  bool give(Node definition, Node call, Node argument);
  void give_field(Node type, std::size_t place, const std::string& keyword);
  void give_rest(Node function, const std::string& rest, const std::string& keyword);
  Why keeps_rest(Node call, Node given, const std::string& name);
  bool names_layer(Node call, Node given) const;

  const Followed& edited_;
  const Idle& idle_;
  const Building& building_;
  std::map<std::string, std::vector<Node>, std::less<>> index_;  // identifiers by their text
  std::set<std::string> flags_;                                  // names under which such a flag was given
  std::set<std::string> fields_;                                 // of packages' configurations, that were given
  std::set<std::pair<const void*, std::string>> defaults_;       // parameters whose default value was edited
  std::set<const void*> keeping_;                                // functions that keep what they get as `**rest` under its names
  std::set<const void*> unnamed_;                                // …whose rest was given something without a name
  Why lost_;  // the use of a rest that was taken for named before something came without a name
  bool draws_ = false;
  std::set<Name> seen_;
  std::deque<Open> open_;
};

}  // namespace hotlens::layers
