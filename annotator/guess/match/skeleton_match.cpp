#include "annotator/guess/match/skeleton_match.h"

#include <algorithm>
#include <map>
#include <utility>

#include "annotator/guess/match/token_match.h"
#include "annotator/guess/match/traced_calls.h"
#include "annotator/profile/build/module_name.h"

namespace hotlens::guess {
namespace {

using attribution::kNoNode;
using Kind = Value::Kind;

constexpr std::size_t kMostObjects = 4;  // ways to have made one module that are followed; more say nothing any more

// The first of several nodes, should all begin on its line.
Node on_one_line(const std::vector<Node>& nodes) {
  const bool one = std::ranges::all_of(nodes, [&](const Node& node) { return node && node.begins_beside(nodes.front()); });
  return one && !nodes.empty() ? nodes.front() : Node{};
}

// Where each module may have been made: what its calls allow, and the line that all of them share.
class PlaceCandidates {
 public:
  PlaceCandidates(const Evaluator& evaluator, std::size_t modules) : evaluator_(evaluator), known_(modules) {}

  // A call of a module that may be any of `places`; of several calls only what all allow stays.
  void note(std::uint32_t module, const std::vector<ValueId>& places) {
    auto& known = known_[module];
    if (known.empty()) {
      known = places;
    } else if (!places.empty()) {
      std::erase_if(known,
                    [&](ValueId one) { return std::ranges::none_of(places, [&](ValueId other) { return may_be_same(one, other); }); });
    }
  }

  // Sets the lines on which all candidates of a module stand, where they stand on one.
  void settle(std::uint32_t module, PlacedModule& to) const {
    std::vector<Node> attached, constructed;
    for (const ValueId one : known_[module]) {
      for (const ValueId name : names(one)) attached.push_back(place(name));
      constructed.push_back(evaluator_.made_at(evaluator_.object(one)));
    }
    to.attached = on_one_line(attached);
    const Node made = on_one_line(constructed);
    if (made && !made.begins_beside(to.attached)) to.constructed = made;
  }

 private:
  // Where a value was attached; null where it was not.
  Node place(ValueId value) const { return evaluator_.at(value).kind == Kind::place ? evaluator_.at(value).node : Node{}; }

  // Whether two values may be one place, or one object. What is not known where it was attached may be any other such.
  bool may_be_same(ValueId a, ValueId b) const {
    const Value &one = evaluator_.at(a), &other = evaluator_.at(b);
    const bool places = one.kind == Kind::place && other.kind == Kind::place;
    return a == b || (places && one.node.id() == other.node.id()) || evaluator_.is_same_made(a, b);
  }

  // The places at which an object got a name for certain: it is shown under one of them. What is taken from a plain list has it elsewhere.
  std::vector<ValueId> names(ValueId place) const {
    std::vector<ValueId> all;
    const bool named = evaluator_.at(place).kind == Kind::place;
    for (const ValueId one : evaluator_.places_of(evaluator_.object(place))) {
      if (evaluator_.is_same_made(place, one) && (!named || evaluator_.at(one).certain)) all.push_back(one);
    }
    if (named || all.empty()) add_once(all, place);
    return all;
  }

  const Evaluator& evaluator_;
  std::vector<std::vector<ValueId>> known_;
};

class Matcher {
 public:
  Matcher(const profile::ModuleCalls& calls, Library& library)
      : calls_(calls),
        library_(library),
        scripts_(scripts_of(calls, library)),
        evaluator_(library, afterwards(scripts_)),
        traced_(calls, library, evaluator_),
        tokens_(evaluator_),
        candidates_(evaluator_, calls.modules.size()) {
    out_.modules.resize(calls.modules.size());
  }

  Placement run() {
    std::vector<char> outermost(out_.modules.size());
    for (std::uint32_t node = 0; node < calls_.nodes.size(); ++node) {
      const std::uint32_t module = calls_.nodes[node].module;
      if (module == kNoNode || caller(node) != kNoNode) continue;
      outermost[module] = 1;
      enter(node, made_by_scripts(node));
    }
    for (std::uint32_t module = 0; module < out_.modules.size(); ++module) {
      const bool several = module < calls_.namesakes.size() && calls_.namesakes[module];
      PlacedModule& placed = out_.modules[module];
      if (!several) candidates_.settle(module, placed);
      // What no module holds has its name where it is made.
      if (outermost[module] && !placed.attached) placed.attached = std::exchange(placed.constructed, Node{});
    }
    return std::move(out_);
  }

 private:
  // The call of the module that makes a call.
  std::uint32_t caller(std::uint32_t node) const { return traced_.module_around(calls_.nodes[node].parent); }

  // The objects that a module which no module calls may be: those of its class that the scripts make, where they are few. A container's
  // class says little: of those only what can hold the calls.
  std::vector<ValueId> made_by_scripts(std::uint32_t node) {
    const std::string name = traced_.class_of(calls_.nodes[node].module);
    const auto [known, fresh] = made_.try_emplace(name);
    for (std::size_t i = 0; fresh && i < scripts_.size(); ++i) {
      if (!scripts_[i]->may_bind(name) && scripts_[i]->text().find(name) == std::string::npos) continue;
      const std::vector<ValueId> made = evaluator_.made_by(*scripts_[i], name);
      known->second.insert(known->second.end(), made.begin(), made.end());
    }
    std::vector<ValueId> objects = known->second;
    const ClassId running = type_of(node, name, {});
    const std::vector<CallToken> tokens = traced_.below(node);
    std::erase_if(objects, [&](ValueId object) {
      const ClassId type = evaluator_.at(object).type;
      if (running != kNoClass && evaluator_.type(running).name == name && type != running) return true;
      return evaluator_.is_torch(type) && (evaluator_.container(type) == Container::none || !tokens_.can_hold(object, tokens));
    });
    return objects.size() > kMostObjects ? std::vector<ValueId>{} : objects;
  }

  // The class of a running module: where its forward is defined, or by name where it inherits that.
  ClassId type_of(std::uint32_t node, const std::string& name, const std::vector<ValueId>& objects) {
    for (const ValueId object : objects) {
      const ClassId type = evaluator_.at(object).type;
      if (type != kNoClass && evaluator_.type(type).name == name && !evaluator_.is_torch(type)) return type;
    }
    ClassId nearest = kNoClass;
    for (const std::uint32_t frame : traced_.first_frames(node)) {
      const TracedCalls::Function& found = traced_.function(frame, name);
      const Node definition = enclosing(found.node, "class_definition");
      if (!definition) continue;
      const ClassId type = evaluator_.class_of(definition);
      if (evaluator_.type(type).name == name) return subclasses_named(name, type).empty() ? type : kNoClass;
      const ClassId named = evaluator_.class_named(*definition.code, name);
      if (named != kNoClass) return named;
      if (nearest == kNoClass && evaluator_.is_module(type)) nearest = type;
    }
    const std::vector<ClassId> subclasses = nearest != kNoClass ? subclasses_named(name, nearest) : std::vector<ClassId>{};
    return subclasses.size() == 1 ? subclasses.front() : nearest;
  }

  // The classes of that name, in the files read so far, that inherit from `base`.
  std::vector<ClassId> subclasses_named(const std::string& name, ClassId base) {
    std::vector<ClassId> found;
    for (const auto& [path, code] : library_.files()) {
      if (!code || code->text().find("class " + name) == std::string::npos || !code->names().contains(name)) continue;
      const ClassId type = evaluator_.class_named(*code, name);
      if (type != base && evaluator_.inherits(type, base)) add_once(found, type);
    }
    return found;
  }

  // A call of a module that may be any of `places`.
  void enter(std::uint32_t node, const std::vector<ValueId>& places) {
    const std::uint32_t module = calls_.nodes[node].module;
    const std::vector<ValueId> objects = objects_at(node, places);
    candidates_.note(module, places);
    out_.modules[module].by_line = fits_by_line(node, traced_.class_of(module));
    body(node, objects);
  }

  // The objects that may be what ran, of its class.
  std::vector<ValueId> objects_at(std::uint32_t node, const std::vector<ValueId>& places) {
    const std::uint32_t module = calls_.nodes[node].module;
    const std::string name = traced_.class_of(module);
    std::vector<ValueId> objects;
    for (const ValueId place : places) {
      if (evaluator_.what(place).kind == Kind::instance) add_once(objects, evaluator_.object(place));
    }
    const ClassId type = type_of(node, name, objects);
    const auto is_named = [&](ClassId one) { return one != kNoClass && evaluator_.type(one).name == name; };
    if (is_named(type) && evaluator_.type(type).node) out_.modules[module].type = evaluator_.type(type).node;
    for (ValueId& object : objects) {
      const ClassId known = evaluator_.at(object).type;
      const bool open = known == kNoClass || (evaluator_.type(known).open && !is_named(known));
      if (type != kNoClass && open) object = evaluator_.made_as(object, type);
    }
    // What is known to be of another class is not what ran; a class of torch that was replaced by its subclass, for one.
    std::erase_if(objects, [&](ValueId object) {
      const ClassId known = evaluator_.at(object).type;
      return known != kNoClass && known != type && !is_named(known);
    });
    if (objects.empty() && type != kNoClass) objects.push_back(evaluator_.some(type));
    if (objects.size() > kMostObjects) objects.resize(kMostObjects);
    return objects;
  }

  // Whether the lines that the trace gives for a module's functions, or for those around one of torch's own, fit the source.
  bool fits_by_line(std::uint32_t node, const std::string& name) {
    const std::vector<std::uint32_t> frames = traced_.first_frames(node);
    if (!frames.empty()) return traced_.function(frames.front(), name).by_line;
    const std::uint32_t around = caller(node);
    return around != kNoNode && out_.modules[calls_.nodes[around].module].by_line;
  }

  // Matches what runs directly below a module or function with what its body can call.
  void body(std::uint32_t node, const std::vector<ValueId>& objects) {
    const std::vector<CallToken> tokens = traced_.below(node);
    if (tokens.empty()) return;
    std::vector<TokenMatch> matches(tokens.size());
    const profile::CallNode& what = calls_.nodes[node];
    const Node definition = what.module == kNoNode ? traced_.function(what.frame, traced_.owner_of(node)).node : Node{};
    const auto add = [&](const std::vector<TokenMatch>& found) {
      for (std::size_t i = 0; i < matches.size(); ++i) merge(matches[i], found[i]);
    };
    for (const ValueId object : objects) {
      const bool holds = what.module != kNoNode && evaluator_.container(evaluator_.at(object).type) != Container::none;
      if (holds) add(tokens_.in_container(object, tokens));
      if (definition) add(tokens_.in_function(definition, object, tokens));
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].is_module()) {
        body(tokens[i].node, objects);
        continue;
      }
      if (matches[i].site) note_call(matches[i].site, tokens[i].module);
      enter(tokens[i].node, matches[i].places);
    }
  }

  static void merge(TokenMatch& into, const TokenMatch& from) {
    if (into.places.empty()) into.site = from.site;
    if (into.site.id() != from.site.id()) into.site = {};
    for (const ValueId place : from.places) add_once(into.places, place);
  }

  void note_call(Node site, std::uint32_t module) {
    const auto [known, fresh] = sites_.try_emplace(site.id(), out_.calls.size());
    if (fresh) out_.calls.push_back({.site = site, .modules = {}});
    PlacedCall& call = out_.calls[known->second];
    ++call.calls;
    add_once(call.modules, module);
  }

  const profile::ModuleCalls& calls_;
  Library& library_;
  std::vector<const Code*> scripts_;
  Evaluator evaluator_;
  TracedCalls traced_;
  TokenMatcher tokens_;
  PlaceCandidates candidates_;
  std::map<std::string, std::vector<ValueId>, std::less<>> made_;  // by the scripts, per class name
  std::map<const void*, std::size_t> sites_;                       // into the placed calls, by their syntax
  Placement out_;
};

}  // namespace

Placement match_skeleton(const profile::ModuleCalls& calls, Library& library) {
  return Matcher(calls, library).run();
}

}  // namespace hotlens::guess
