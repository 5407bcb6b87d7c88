#include "annotator/lab/structure/locate.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

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

// The class that a method is in, or the function.
Node class_around(Node node) {
  const Node type = source::enclosing(node, "class_definition");
  return type ? type : source::enclosing(node, "function_definition");
}

// Whether the code calls the function once.
bool is_alone(const Step& step, Node code) {
  const std::string_view text = code.text();
  const std::string name = function_name(step) + "(";
  const std::size_t first = text.find(name);
  return first != std::string_view::npos && text.find(name, first + 1) == std::string_view::npos;
}

// Of calls of the same layer in a class's methods, the first, second, … as Python comes to them: what is inside another one is before it.
std::vector<const void*> same_calls(Node call) {
  std::vector<Node> all;
  const std::string_view callee = call.field("function").text();
  source::walk(class_around(call).field("body"), [&](Node node) {
    if (node.is("call") && node.field("function").text() == callee) all.push_back(node);
    return true;
  });
  std::ranges::stable_sort(all, {}, [](const Node& node) {
    const source::Position end = node.range().end;
    return std::pair(end.line, end.column);
  });
  std::vector<const void*> ids;
  std::ranges::transform(all, std::back_inserter(ids), [](const Node& node) { return node.id(); });
  return ids;
}

// Of operators that the gap's module calls itself in these lines, those that are wanted: the last one of each call of the module, and each.
struct InLines {
  std::vector<lab::Call> last, each;
};

InLines in_lines(const lab::Program& program, const Gap& gap, Lines lines, const std::function<bool(const Operator&)>& wanted) {
  InLines found;
  std::map<std::int64_t, std::size_t> by_call;
  for (std::size_t place = 0; place < program.operators.size(); ++place) {
    const Operator& op = program.operators[place];
    const bool here = lab::computes(op) && op.module != lab::kNoModule && op.line >= lines.first && op.line <= lines.second &&
                      program.modules[op.module] == gap.recorded_holder && wanted(op);
    if (!here) continue;
    found.each.push_back({.begin = place, .end = place + 1});
    const auto [at, first] = by_call.emplace(op.call, found.last.size());
    if (first) found.last.emplace_back();
    found.last[at->second] = {.begin = place, .end = place + 1};
  }
  return found;
}

// Calls that follow each other directly are one; as many equal parts are one call each: `a, b = self.net(x), self.net(y)`.
std::vector<lab::Call> parted(const lab::Program& program, const lab::Call& all, std::size_t count) {
  std::vector<std::size_t> places;
  for (std::size_t place = all.begin; place < all.end; ++place) {
    if (lab::computes(program.operators[place])) places.push_back(place);
  }
  const std::size_t each = places.size() / count;
  const auto alike = [&](std::size_t at) {
    const Operator &one = program.operators[places[at]], &other = program.operators[places[at % each]];
    return one.name == other.name && one.module == other.module;
  };
  std::vector<lab::Call> parts;
  for (std::size_t at = 0; each * count == places.size() && at < places.size(); ++at) {
    if (!alike(at)) return {};
    if (at % each == 0) parts.push_back({.begin = places[at]});
    parts.back().end = places[at] + 1;
  }
  return parts;
}

// How often a module is called: as often as the one in it that is called least.
std::size_t times_called(const lab::Program& program, const std::string& path) {
  std::map<std::size_t, std::set<std::int64_t>> calls;
  for (const Operator& op : program.operators) {
    if (lab::computes(op) && op.module != lab::kNoModule && lab::is_within(program.modules[op.module], path))
      calls[op.module].insert(op.call);
  }
  std::size_t least = 0;
  for (const auto& [module, numbers] : calls) least = least == 0 ? numbers.size() : std::min(least, numbers.size());
  return least;
}

// Of the modules that a list holds, in the order of the step. Nullopt: one is called more often than the module that goes through the list.
std::optional<std::vector<lab::Call>> calls_of_entries(const lab::Program& program, const std::string& holder, const std::string& list) {
  const std::size_t times = lab::calls_of(program, holder).size();
  std::vector<lab::Call> all;
  for (const std::string& path : program.modules) {
    if (!path.starts_with(list + ".") || path.find('.', list.size() + 1) != std::string::npos) continue;
    if (times_called(program, path) != times) return std::nullopt;
    std::ranges::copy(lab::calls_of(program, path), std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &lab::Call::begin);
  return all;
}

std::optional<std::vector<lab::Call>> calls_of_layer(const lab::Program& program, const Gap& gap, const Step& step) {
  if (step.path.ends_with(kEach))
    return calls_of_entries(program, gap.recorded_holder, step.path.substr(0, step.path.size() - kEach.size()));
  const bool known = !gap.is_forward() || std::ranges::find(program.modules, step.path) != program.modules.end();
  if (!known) return std::nullopt;  // a method, or a layer that has another name too
  std::vector<lab::Call> all = lab::calls_of(program, step.path);
  const auto texts = gap.is_forward() && step.at ? same_calls(step.at) : std::vector<const void*>();
  if (texts.size() < 2 || all.empty()) return all;
  const auto number = static_cast<std::size_t>(std::ranges::find(texts, step.at.id()) - texts.begin());
  std::vector<lab::Call> found;
  for (const lab::Call& whole : lab::calls_of(program, gap.recorded_holder)) {
    std::vector<lab::Call> inside;
    std::ranges::copy_if(all, std::back_inserter(inside),
                         [&](const lab::Call& one) { return whole.begin <= one.begin && one.end <= whole.end; });
    if (inside.size() == 1) inside = parted(program, inside.front(), texts.size());
    if (inside.size() != texts.size() || number >= inside.size()) return std::nullopt;
    found.push_back(inside[number]);
  }
  return found;
}

}  // namespace

std::optional<std::vector<lab::Call>> locate(const lab::Program& program, const Gap& gap, const std::vector<Step>& steps,
                                             std::size_t number) {
  const Step& step = steps[number];
  if (step.function.empty()) return calls_of_layer(program, gap, step);
  if (step.at) {
    InLines there = in_lines(program, gap, lines_of(step.at), [&](const Operator& op) { return calls(program, op, gap, step); });
    const bool repeated = is_repeated(step.at) && is_alone(step, step.at);
    if (!there.each.empty() && (repeated || there.each.size() == there.last.size())) return std::move(there.each);
  }
  std::vector<lab::Call> found;
  const auto add = [&](std::size_t place) {
    if (place < program.operators.size() && calls(program, program.operators[place], gap, step))
      found.push_back({.begin = place, .end = place + 1});
  };
  if (number + 1 < steps.size()) {
    const auto around = locate(program, gap, steps, number + 1);
    if (!around) return std::nullopt;
    for (const lab::Call& before : *around) add(lab::after_releases(program, before.end));
  } else if (is_alone(step, class_around(step.at))) {
    for (std::size_t place = 0; place < program.operators.size(); ++place) add(place);
  }
  return found.empty() ? std::nullopt : std::optional(std::move(found));
}

std::optional<std::vector<lab::Call>> locate_value(const lab::Program& program, const Gap& gap) {
  if (!gap.value) return std::nullopt;
  auto last = in_lines(program, gap, *gap.value, [](const Operator& /*op*/) { return true; }).last;
  return last.empty() ? std::nullopt : std::optional(std::move(last));
}

}  // namespace hotlens::layers
