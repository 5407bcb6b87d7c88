// What a piece of Python says to the interpreter, whatever else stands in it: comments, layout, docstrings, annotations and notes to people
// (a `print` of constants) are left out. Equal wordings run alike.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

std::string wording(Node node);
bool same_wording(Node one, Node other);
// Of a whole or a real number as it is written: `0.5`, `1_000`.
double literal_number(Node literal);
// What the file's top level binds a name to, where one statement alone does; null else.
const source::Binding* only_binding(const source::Code& code, std::string_view name);
// Of a literal (False and None are 0, True is 1), or of a name that the file's top level gives one.
std::optional<double> number_of(Node value);
// What stands between its named parts: "_<_", "_:".
std::string marks(Node node);

// Names that a piece of code asks for: `a` and, where nothing else is done with it, `a.b` or `a.b.c`; `getattr(a, "b")` is `a.b`,
// `hasattr(a, "b")` is `?a.b`.
void asked_names(Node node, std::set<std::string>& to);

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

// Whether a function of this dotted name tells people something or seeds random numbers: neither changes what a step costs.
bool is_told(std::string_view callee);
// Whether an argument of this name says how an optimizer's step computes its values, or when its rate changes: the step's operators depend
// on whether it is zero alone, of `lr`, and of what a scheduler gets, on nothing.
bool is_rate_of_update(std::string_view callee, std::string_view keyword);
// Nothing wherever it stands, in a step too: a docstring, `pass`, a declaration, `print("here")`.
bool is_silent(Node statement);
// A statement that tells people something, or does nothing: `print(f"{sum(p.numel() for p in model.parameters())} weights")`, `pass`.
bool is_remark(Node statement);

}  // namespace hotlens::layers
