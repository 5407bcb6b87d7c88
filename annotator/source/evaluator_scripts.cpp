// What a script makes: its top level is followed, then the functions that nobody called there.
#include <utility>

#include "annotator/source/interpreter.h"

namespace hotlens::source {
namespace {

constexpr std::int64_t kScriptBudget = 200'000;  // expressions; a training script of 1,000 lines needs 20,000

// Functions of the top level and methods of its classes, in the order of the text; those inside functions run with these.
std::vector<Node> outer_functions(const Code& code) {
  std::vector<Node> found, open{code.root()};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.is("function_definition")) {
      found.push_back(node);
      continue;
    }
    const std::vector<Node> below = node.children();
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  return found;
}

}  // namespace

std::vector<ValueId> Evaluator::made_by(const Code& script, std::string_view type) {
  std::vector<ValueId> made;
  const Allowance allowance(*this, kScriptBudget);
  const auto outer = std::exchange(watched_, Watched{.type = std::string(type), .made = &made});
  Interpreter(*this, {.code = &script, .scope = std::make_shared<Scope>(), .activation = next_activation_++}).run(script.root());
  for (const Node& function : outer_functions(script)) {
    const Node holder = enclosing(function, "class_definition");
    const ClassId owner = holder ? class_of(holder) : kNoClass;
    if (ran_.contains(function.id()) || is_module(owner) || function.text().find(type) == std::string_view::npos) continue;
    const ValueId self = owner != kNoClass ? some(owner) : kUnknown;
    auto scope = std::make_shared<Scope>();
    Interpreter run(*this, {.code = &script, .scope = scope, .self = self, .owner = owner, .activation = next_activation_++});
    bind_parameters(run, function, self, nullptr, *scope);
    if (const Node body = function.field("body")) run.run(body);
  }
  watched_ = outer;
  return made;
}

}  // namespace hotlens::source
