#include "annotator/guess/match/skeleton_match.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "annotator/guess/match/token_match.h"
#include "annotator/guess/match/traced_calls.h"
#include "annotator/profile/build/module_name.h"

namespace hotlens::guess {
namespace {

using attribution::kNoNode;
using Kind = Value::Kind;

constexpr std::size_t kMostObjects = 4;  // ways to have made one module that are followed; more say nothing any more

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
      if (module == kNoNode || inside_module(node)) continue;
      outermost[module] = 1;
      enter(node, made_by_scripts(node));
    }
    for (std::uint32_t module = 0; module < out_.modules.size(); ++module) {
      const bool several = module < calls_.namesakes.size() && calls_.namesakes[module];
      PlacedModule& placed = out_.modules[module];
      if (!several) candidates_.settle(module, placed);
      // What no module holds has its name where it is made.
      if (outermost[module] && !placed.attached) placed.attached = std::exchange(placed.constructed, std::nullopt);
    }
    for (auto& [key, call] : sites_) out_.calls.push_back(std::move(call));
    return std::move(out_);
  }

 private:
  bool inside_module(std::uint32_t node) const {
    for (std::uint32_t up = calls_.nodes[node].parent; up != kNoNode; up = calls_.nodes[up].parent) {
      if (calls_.nodes[up].module != kNoNode) return true;
    }
    return false;
  }

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
    std::vector<const Code*> files;
    for (const auto& [path, code] : library_.files()) {
      if (code && code->text().find("class " + name) != std::string::npos && code->names().contains(name)) files.push_back(code.get());
    }
    std::vector<ClassId> found;
    for (const Code* code : files) {
      const ClassId type = evaluator_.class_named(*code, name);
      const bool known = type == kNoClass || type == base || std::ranges::find(found, type) != found.end();
      if (!known && std::ranges::find(evaluator_.type(type).order, base) != evaluator_.type(type).order.end()) found.push_back(type);
    }
    return found;
  }

  // A call of a module that may be any of `places`.
  void enter(std::uint32_t node, const std::vector<ValueId>& places) {
    const std::uint32_t module = calls_.nodes[node].module;
    const std::vector<ValueId> objects = objects_at(node, places);
    candidates_.note(module, places);
    out_.modules[module].by_line = fits_by_line(node, traced_.class_of(module));
    const ClassId made = objects.empty() ? kNoClass : evaluator_.at(objects.front()).type;
    const bool composite = evaluator_.is_torch(made) && evaluator_.container(made) == Container::none && traced_.first_frames(node).empty();
    if (composite) {
      enter_composite(node, places);
    } else {
      body(node, objects);
    }
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
    for (std::uint32_t up = calls_.nodes[node].parent; up != kNoNode; up = calls_.nodes[up].parent) {
      if (calls_.nodes[up].module != kNoNode) return out_.modules[calls_.nodes[up].module].by_line;
    }
    return false;
  }

  // What a module of torch makes inside itself stands on the line that makes that module.
  void enter_composite(std::uint32_t node, const std::vector<ValueId>& places) {
    for (const CallToken& token : traced_.below(node)) {
      if (!token.is_module()) continue;
      candidates_.note(token.module, places);
      enter_composite(token.node, places);
    }
  }

  // Matches what runs directly below a module or function with what its body can call.
  void body(std::uint32_t node, const std::vector<ValueId>& objects) {
    const std::vector<CallToken> tokens = traced_.below(node);
    if (tokens.empty()) return;
    std::vector<TokenMatch> matches(tokens.size());
    const profile::CallNode& what = calls_.nodes[node];
    const Node definition = what.module == kNoNode ? traced_.function(what.frame, traced_.owner_of(node)).node : Node{};
    const auto merge_all = [&](const std::vector<TokenMatch>& found) {
      for (std::size_t i = 0; i < matches.size(); ++i) merge(matches[i], found[i]);
    };
    const auto match_with = [&](ValueId object) {
      if (what.module != kNoNode && evaluator_.container(evaluator_.at(object).type) != Container::none)
        merge_all(tokens_.in_container(object, tokens));
      if (definition) merge_all(tokens_.in_function(definition, object, tokens));
    };
    for (const ValueId object : objects) match_with(object);
    // Made otherwise than it seems, perhaps: then any object of the class.
    const bool nothing = std::ranges::all_of(matches, [](const TokenMatch& match) { return match.places.empty(); });
    const ClassId type = objects.empty() ? kNoClass : evaluator_.at(objects.front()).type;
    if (nothing && type != kNoClass && evaluator_.at(objects.front()).trail != kNoTrail) match_with(evaluator_.some(type));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].is_module()) {
        body(tokens[i].node, objects);
        continue;
      }
      if (const auto& spot = matches[i].spot; spot && spot->known()) note_call(*spot, tokens[i].module);
      enter(tokens[i].node, matches[i].places);
    }
  }

  static void merge(TokenMatch& into, const TokenMatch& from) {
    const bool first = into.places.empty() && !into.spot;
    for (const ValueId place : from.places) add_once(into.places, place);
    if (first) {
      into.spot = from.spot;
    } else if (!from.spot || !into.spot || !(*into.spot == *from.spot)) {
      into.spot = Spot{};  // known to be unknown
    }
  }

  void note_call(const Spot& spot, std::uint32_t module) {
    const auto key = std::tuple(spot.code, spot.range.begin, spot.range.end);
    PlacedCall& call = sites_[key];
    call.spot = spot;
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
  std::map<std::tuple<const Code*, source::Position, source::Position>, PlacedCall> sites_;
  Placement out_;
};

}  // namespace

Placement match_skeleton(const profile::ModuleCalls& calls, Library& library) {
  return Matcher(calls, library).run();
}

}  // namespace hotlens::guess
