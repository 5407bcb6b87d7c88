#include "annotator/lab/arguments/written_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"
#include "annotator/lab/program/literals.h"

namespace hotlens::layers {
namespace {

constexpr std::array<std::string_view, 2> kMethods{"view", "reshape"};

// Of numbers alone: `16 * 5 * 5`.
std::optional<std::int64_t> number_in(Node node) {
  if (node.is("parenthesized_expression")) return number_in(node.child());
  if (node.is("unary_operator") && node.field("operator").text() == "-") {
    const auto number = number_in(node.field("argument"));
    return number ? std::optional(-*number) : std::nullopt;
  }
  if (node.is("binary_operator")) {
    const auto left = number_in(node.field("left")), right = number_in(node.field("right"));
    const std::string_view sign = node.field("operator").text();
    std::int64_t made = 0;
    const bool known =
        left && right &&
        ((sign == "*" && !__builtin_mul_overflow(*left, *right, &made)) || (sign == "+" && !__builtin_add_overflow(*left, *right, &made)) ||
         (sign == "-" && !__builtin_sub_overflow(*left, *right, &made)));
    return known ? std::optional(made) : std::nullopt;
  }
  if (!node.is("integer")) return std::nullopt;
  const auto number = number_of(node);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

// The sizes that a call gives, also as one tuple or list; empty: they cannot be told apart.
std::vector<Node> sizes_of(Node call) {
  std::vector<Node> given = call.field("arguments").children();
  if (given.size() == 1 && (given[0].is("tuple") || given[0].is("list"))) given = given[0].children();
  const bool plain = std::ranges::none_of(
      given, [](const Node& one) { return one.is("keyword_argument") || one.is("list_splat") || one.is("dictionary_splat"); });
  return plain ? given : std::vector<Node>();
}

std::string_view method_of(Node call) {
  const Node callee = call.field("function");
  return callee.is("attribute") ? callee.field("attribute").text() : std::string_view();
}

std::vector<Node> calls_in(const source::Code& code) {
  std::vector<Node> found;
  source::walk(code.root(), [&](Node node) {
    if (node.is("call") && is_among(kMethods, method_of(node)) && !sizes_of(node).empty()) found.push_back(node);
    return true;
  });
  return found;
}

bool alike(Node one, Node other) {
  return method_of(one) == method_of(other) && sizes_of(one).size() == sizes_of(other).size() &&
         source::qualified_name(one) == source::qualified_name(other);
}

bool is_of_script(Node call) {
  return !source::enclosing(call, "function_definition") && !source::enclosing(call, "class_definition");
}

// Nullopt where one is no number.
std::optional<std::vector<std::int64_t>> numbers_of(Node call) {
  std::vector<std::int64_t> numbers;
  for (const Node& one : sizes_of(call)) {
    const auto number = number_in(one);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// What it writes as numbers; `pieces`: of the edited text, where these are others.
WrittenSizes written(Node was, Node is, Pieces& pieces) {
  const source::Range lines = was.range();
  const std::vector<Node> before = sizes_of(was), after = sizes_of(is);
  const bool of_script = is_of_script(was);
  WrittenSizes call{.method = method_of(was),
                    .first = of_script ? 0 : static_cast<std::int64_t>(lines.begin.line) + 1,
                    .last = of_script ? 0 : static_cast<std::int64_t>(lines.end.line) + 1,
                    .count = before.size(),
                    .sizes = {},
                    .what = {},
                    .at = line_of(is)};
  std::string shown;
  bool edited = false;
  for (std::size_t at = 0; at < call.count; ++at) {
    const Node old = before[at], now = after[at];
    const auto one = number_in(old), other = number_in(now);
    const bool both = one && other && *one > 0 && *other > 0;
    if (both) call.sizes.push_back({.place = at, .was = *one, .is = *other});
    const bool changes = both && *one != *other;
    if (both && old.text() != now.text()) pieces[now.code][span_of(now)] = std::string(old.text());
    shown += (at > 0 ? ", " : "") + (changes ? fmt::format("{} → {}", *one, *other) : std::string(now.text()));
    edited = edited || changes;
  }
  if (edited) call.what = fmt::format("{}({})", call.method, shown);
  return call;
}

// Of calls in the script's loop only what they write tells which operator is which.
bool are_told_apart(const std::vector<Node>& was, const std::vector<Node>& is, const std::function<bool(const Node&)>& in_script) {
  std::map<std::pair<std::string_view, std::vector<std::int64_t>>, std::vector<std::int64_t>> known;
  for (std::size_t at = 0; at < was.size(); ++at) {
    if (!in_script(was[at])) continue;
    const auto before = numbers_of(was[at]), after = numbers_of(is[at]);
    if (!before || !after || known.try_emplace({method_of(was[at]), *before}, *after).first->second != *after) return false;
  }
  return true;
}

bool has_sizes(const WrittenSizes& call, const lab::Sizes& sizes) {
  const bool others_open = call.first > 0 || std::ranges::count(sizes, -1) + std::ssize(call.sizes) == std::ssize(sizes);
  return sizes.size() == call.count && others_open &&
         std::ranges::all_of(call.sizes, [&](const WrittenSizes::Size& one) { return sizes[one.place] == one.was; });
}

}  // namespace

WrittenInTexts without_written_sizes(const Sources& executed, const Sources& edited) {
  WrittenInTexts all{.edited = edited, .calls = {}};
  Pieces pieces;
  for (const auto& [path, code] : executed.files) {
    const auto now = edited.files.find(path);
    if (executed.packages.contains(path) || now == edited.files.end()) continue;
    const std::vector<Node> was = calls_in(*code), is = now->second == code ? was : calls_in(*now->second);
    if (!std::ranges::equal(was, is, alike)) continue;
    const auto in_script = [&](const Node& one) { return is_of_script(one) && path == executed.script; };
    const bool apart = are_told_apart(was, is, in_script);
    for (std::size_t at = 0; at < was.size(); ++at) {
      const bool in_class = static_cast<bool>(source::enclosing(was[at], "class_definition"));
      if (!in_class && !(in_script(was[at]) && apart)) continue;
      WrittenSizes call = written(was[at], is[at], pieces);
      if (!call.sizes.empty()) all.calls.push_back(std::move(call));
    }
  }
  replace_in(all.edited.files, pieces);
  for (auto& [path, code] : all.edited.files) {
    const auto then = executed.files.find(path);
    if (then != executed.files.end() && then->second != code && then->second->text() == code->text()) code = then->second;
  }
  return all;
}

std::optional<Unclear> write_sizes(Rewritten& rewritten, const WrittenSizes& call) {
  const std::string name = "aten::" + std::string(call.method);
  bool found = false;
  for (lab::Operator& op : rewritten.program.operators) {
    if (op.name != name) continue;
    const bool here = call.first > 0 ? op.line >= call.first && op.line <= call.last : op.module == lab::kNoModule;
    auto sizes = here ? lab::list_at(op, 1) : std::nullopt;
    if (!sizes || !has_sizes(call, *sizes)) continue;
    found = true;
    op.written.clear();
    for (std::size_t at = 0; at < sizes->size(); ++at) {
      if ((*sizes)[at] == -1) op.written.emplace_back(at, -1);
    }
    for (const WrittenSizes::Size& one : call.sizes) op.written.emplace_back(one.place, one.is);
    if (op.written.size() < sizes->size()) continue;  // the others follow first
    for (const auto& [place, number] : op.written) (*sizes)[place] = number;
    lab::set_list(op, 1, *sizes);
  }
  if (found || call.what.empty()) return std::nullopt;
  return Unclear{.reason = "which operator of the recorded step " + call.what + " is cannot be known", .at = call.at};
}

}  // namespace hotlens::layers
