// `nn.ReLU(inplace=True)` in the calls that make layers; `F.relu(x, inplace=True)` in a forward that runs each of its calls every time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/layers.h"

namespace hotlens::advice {
namespace {

constexpr std::array<std::string_view, 1> kReLU{"ReLU"};
constexpr std::string_view kFunction = "torch.nn.functional.relu";

// `inplace` of a call, at this place where it has no name.
LayerEdit in_place(const PythonText& text, const Call& call, std::size_t place) {
  const Argument* given = call.named("inplace");
  if (given == nullptr && place < call.given.size() && call.given[place].name.empty()) given = &call.given[place];
  if (given == nullptr) return Offered{appended(call, "inplace=True")};
  if (given->kind == "true") return Offered{};
  if (given->kind == "false") return Offered{Replacement{given->value, "True"}};
  return std::unexpected(fmt::format("whether it is in place is an expression: `{}`", text.at(given->value)));
}

LayerEdit layer_in_place(const PythonText& text, const Call& call) {
  return in_place(text, call, 0);
}

LayerEdit call_in_place(const PythonText& text, const Call& call) {
  if (call.what == kFunction) return call.spreads() ? std::unexpected("its arguments come from elsewhere") : in_place(text, call, 1);
  const std::uint32_t end = call.callee.end;
  return Offered{Replacement{{end, end}, "_"}};
}

bool is_relu(const PythonText& text, const Call& call) {
  return call.what == kFunction || call.what == "torch.relu" || (call.given.empty() && text.at(call.callee).ends_with(".relu"));
}

// A statement of `forward` itself, in no branch and no loop, of which nothing is left out.
bool runs_every_time(const PythonText& text, TSNode call) {
  constexpr auto kParts =
      std::to_array<std::string_view>({"argument_list", "call", "attribute", "assignment", "expression_statement", "return_statement",
                                       "keyword_argument", "binary_operator", "parenthesized_expression", "block", "tuple", "list",
                                       "expression_list", "augmented_assignment", "with_statement"});
  for (TSNode node = ts_node_parent(call); !ts_node_is_null(node); node = ts_node_parent(node)) {
    if (type(node) == "function_definition") return text.at(field(node, "name")) == "forward";
    if (std::ranges::find(kParts, type(node)) == kParts.end()) return false;
  }
  return false;
}

// Whether a function has a `return` that leaves something out: one that is not its end.
bool returns_early(TSNode function) {
  const TSNode body = field(function, "body");
  bool early = false;
  each_node(body, [&](TSNode node) {
    const bool leaves = type(node) == "return_statement" || type(node) == "raise_statement";
    early = early || (leaves && span(node).end != span(body).end);
  });
  return early;
}

// Adds the edits of a class's own calls. The error: why there are none.
std::optional<NoEdit> edit_class(const Script& script, const std::string& name, ByPlace& edits) {
  std::size_t found = 0;
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    const PythonText& text = script.texts()[file];
    for (const Call& call : text.calls()) {
      if (!is_relu(text, call) || class_around(text, call) != name) continue;
      const TSNode node = node_of(text, call);
      const std::string where = script.place(file, call.whole.begin);
      if (!runs_every_time(text, node) || returns_early(around(node, "function_definition")))
        return NoEdit{fmt::format("it is not certain that the relu at {} runs in each forward pass, so also in the recorded one", where),
                      {}};
      auto edit = call_in_place(text, call);
      if (!edit) return NoEdit{fmt::format("relu at {}: {}", where, edit.error()), {}};
      if (edit->edit) edits[file].emplace(edit->edit->span.begin, *edit->edit);
      found += edit->edit ? 1 : 0;
    }
  }
  if (found == 0) return NoEdit{fmt::format("`{}` calls relu in no code of its own that ran", name), {}};
  return std::nullopt;
}

}  // namespace

Made inplace_relu(const Script& script, std::span<const std::string> paths) {
  std::vector<std::string> layers, others;
  for (const std::string& path : paths) {
    const bool layer = script.classes_of(std::span(&path, 1)).contains("ReLU");
    (layer ? layers : others).push_back(path);
  }
  ByPlace edits;
  for (const std::string& name : script.classes_of(others)) {
    if (auto why = edit_class(script, name, edits)) return std::unexpected(std::move(*why));
  }
  if (layers.empty() && edits.empty()) return no("no class is known that calls relu");
  if (!layers.empty()) {
    auto made = edit_layers(script, layers, kReLU, layer_in_place, Others::stay);
    if (!made) return made;
    for (FileEdit& edit : *made) {
      for (Replacement& one : edit.replacements) edits[edit.file].emplace(one.span.begin, std::move(one));
    }
  }
  return listed(std::move(edits));
}

}  // namespace hotlens::advice
