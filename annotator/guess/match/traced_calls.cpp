#include "annotator/guess/match/traced_calls.h"

#include <algorithm>

#include "annotator/profile/build/module_name.h"

namespace hotlens::guess {
namespace {

using attribution::kNoNode;

constexpr std::string_view kParametrizations = "ParametrizationList", kParametrized = "Parametrized";

bool is_torch_frame(const trace::PythonFrame& frame) {
  return frame.path.starts_with("torch/") || frame.path.find("/site-packages/torch/") != std::string::npos || frame.path.starts_with('<');
}

// A comprehension runs in a frame of its own (lists and dicts until Python 3.11), but is written inside the body around it.
bool is_inline(const trace::PythonFrame& frame) {
  return frame.function == "<listcomp>" || frame.function == "<setcomp>" || frame.function == "<dictcomp>" || frame.function == "<genexpr>";
}

}  // namespace

std::vector<const Code*> scripts_of(const profile::ModuleCalls& calls, Library& library) {
  std::vector<const Code*> scripts;
  std::vector<char> inside(calls.nodes.size());  // a module, or below one
  for (std::uint32_t node = 0; node < calls.nodes.size(); ++node) {
    const profile::CallNode& what = calls.nodes[node];
    inside[node] = what.module != kNoNode || (what.parent != kNoNode && inside[what.parent]);
    if (inside[node] || is_torch_frame(calls.frames[what.frame])) continue;
    const Code* code = library.traced(calls.frames[what.frame].path);
    if (code != nullptr) add_once(scripts, code);
  }
  return scripts;
}

TracedCalls::TracedCalls(const profile::ModuleCalls& calls, Library& library, Evaluator& evaluator)
    : calls_(calls), library_(library), evaluator_(evaluator), children_(calls.nodes.size()), functions_(calls.frames.size()) {
  for (std::uint32_t node = 0; node < calls.nodes.size(); ++node) {
    if (calls.nodes[node].parent != kNoNode) children_[calls.nodes[node].parent].push_back(node);
  }
  // What a class is called may be what its subclass is called: the files of both are there before the first is looked for.
  for (const trace::PythonFrame& frame : calls.frames) {
    if (frame.function == "forward" && !is_torch_frame(frame)) library.traced(frame.path);
  }
}

std::string TracedCalls::class_of(std::uint32_t module) const {
  std::string_view name = profile::class_of_instance(calls_.modules[module]);
  if (name.starts_with(kParametrized) && name.size() > kParametrized.size()) name.remove_prefix(kParametrized.size());
  return std::string(name);
}

const TracedCalls::Function& TracedCalls::function(std::uint32_t frame, const std::string& owner) {
  if (functions_[frame]) return *functions_[frame];
  Function& known = functions_[frame].emplace();
  const trace::PythonFrame& what = calls_.frames[frame];
  const Code* code = library_.traced(what.path);
  if (code == nullptr) return known;
  const Node exact = code->function_at(what.line);
  if (exact.field("name").text() == what.function) return known = {exact, true};
  // Another version of the file: the names decide, where they can. Of a method and the one it overrides the class's own runs.
  std::vector<Node> named = code->functions_named(what.function);
  const ClassId type = evaluator_.class_named(*code, owner);
  const auto holder = [](const Node& one) { return enclosing(one, "class_definition").field("name").text(); };
  prefer(named, [&](const Node& one) { return holder(one) == owner; });
  prefer(named, [&](const Node& one) { return evaluator_.derives(type, holder(one)); });
  if (named.size() == 1) known.node = named.front();
  return known;
}

std::uint32_t TracedCalls::module_around(std::uint32_t node) const {
  while (node != kNoNode && calls_.nodes[node].module == kNoNode) node = calls_.nodes[node].parent;
  return node;
}

std::string TracedCalls::owner_of(std::uint32_t node) const {
  const std::uint32_t module = module_around(node);
  return module == kNoNode ? std::string() : class_of(calls_.nodes[module].module);
}

std::vector<CallToken> TracedCalls::below(std::uint32_t node) {
  std::vector<CallToken> out;
  for (const std::uint32_t child : children_[node]) {
    const profile::CallNode& what = calls_.nodes[child];
    if (what.module != kNoNode) {
      const std::string type = class_of(what.module);
      if (type != kParametrizations) out.push_back({.node = child, .type = type, .module = what.module});
    } else if (const trace::PythonFrame& frame = calls_.frames[what.frame]; passes_on(child, frame)) {
      const std::vector<CallToken> inner = below(child);
      out.insert(out.end(), inner.begin(), inner.end());
    } else {
      const Node definition = function(what.frame, owner_of(child)).node;
      out.push_back({.node = child, .function = frame.function, .definition = definition, .frame = what.frame});
    }
  }
  return out;
}

// What is looked through. `__call__` of a module's class runs before the module's own frame.
bool TracedCalls::passes_on(std::uint32_t node, const trace::PythonFrame& frame) {
  if (is_torch_frame(frame) || is_inline(frame)) return true;
  if (frame.function != "__call__") return false;
  const Node type = enclosing(function(calls_.nodes[node].frame, owner_of(node)).node, "class_definition");
  return !type || evaluator_.is_module(evaluator_.class_of(type));
}

std::vector<std::uint32_t> TracedCalls::first_frames(std::uint32_t node) const {
  std::vector<std::uint32_t> frames;
  for (std::uint32_t at = node; frames.size() < 4;) {
    const auto next = std::ranges::find_if(children_[at], [&](std::uint32_t child) { return calls_.nodes[child].frame != kNoNode; });
    if (next == children_[at].end()) break;
    at = *next;
    if (!is_torch_frame(calls_.frames[calls_.nodes[at].frame])) frames.push_back(calls_.nodes[at].frame);
  }
  return frames;
}

}  // namespace hotlens::guess
