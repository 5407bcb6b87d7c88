#include "annotator/lab/structure/locate.h"

#include "annotator/lab/layers/match/forward.h"
#include "annotator/lab/structure/releases.h"

namespace hotlens::layers {
namespace {

using lab::Operator;

bool calls(const lab::Program& program, const Operator& op, const Gap& gap, const Step& function) {
  const std::string name = "aten::" + function_name(function);
  return op.kind == lab::OperatorKind::library && op.module != lab::kNoModule && (op.name == name || op.name == name + "_") &&
         program.modules[op.module] == gap.recorded_holder;
}

// Whether its forward calls the function once.
bool is_alone(const Step& step) {
  const std::string_view text = source::enclosing(step.at, "function_definition").text();
  const std::string name = function_name(step) + "(";
  const std::size_t first = text.find(name);
  return first != std::string_view::npos && text.find(name, first + 1) == std::string_view::npos;
}

}  // namespace

std::vector<lab::Call> locate(const lab::Program& program, const Gap& gap, const std::vector<Step>& steps, std::size_t number) {
  const Step& step = steps[number];
  if (step.function.empty()) return lab::calls_of(program, step.path);
  std::vector<lab::Call> found;
  const auto add = [&](std::size_t place) {
    if (place < program.operators.size() && calls(program, program.operators[place], gap, step))
      found.push_back({.begin = place, .end = place + 1});
  };
  if (number + 1 < steps.size()) {
    for (const lab::Call& before : locate(program, gap, steps, number + 1)) add(lab::after_releases(program, before.end));
  } else if (is_alone(step)) {
    for (std::size_t place = 0; place < program.operators.size(); ++place) add(place);
  }
  return found;
}

}  // namespace hotlens::layers
