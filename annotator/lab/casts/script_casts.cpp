#include "annotator/lab/casts/script_casts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

// "bfloat16" of `torch.bfloat16`, of `torch.half` "float16"; empty: no floating type.
std::string dtype_named(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 7> kTypes{{{"torch.bfloat16", "bfloat16"},
                                                                            {"torch.float16", "float16"},
                                                                            {"torch.half", "float16"},
                                                                            {"torch.float32", "float32"},
                                                                            {"torch.float", "float32"},
                                                                            {"torch.float64", "float64"},
                                                                            {"torch.double", "float64"}}};
  const auto found = std::ranges::find(kTypes, text, &std::pair<std::string_view, const char*>::first);
  return found == kTypes.end() ? std::string() : found->second;
}

// Of an argument; a name stands for what the file's top level gives it.
std::string dtype_of(Node value) {
  if (value.is("identifier")) {
    const source::Binding* binding = only_binding(*value.code, value.text());
    return binding != nullptr && binding->kind == source::Binding::Kind::value ? dtype_named(binding->node.text()) : std::string();
  }
  return dtype_named(value.text());
}

struct Cast {
  Node call, of, argument;  // the argument that is the type; null: the method's name says it
  std::string dtype;
};

std::optional<Cast> cast_of(Node call) {
  const Node callee = call.field("function"), list = call.field("arguments");
  if (!call.is("call") || !callee.is("attribute") || !list.is("argument_list")) return std::nullopt;
  const bool factory = callee.field("object").text() == "torch" && list.children().size() > 1;  // `torch.randn(8, 4, dtype=torch.float64)`
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kMethods{
      {{"bfloat16", "bfloat16"}, {"half", "float16"}, {"float", "float32"}, {"double", "float64"}}};
  const std::string_view name = callee.field("attribute").text();
  Cast cast{.call = call, .of = callee.field("object"), .argument = {}, .dtype = {}};
  const auto known = std::ranges::find(kMethods, name, &std::pair<std::string_view, const char*>::first);
  if (known != kMethods.end() && list.children().empty()) cast.dtype = known->second;
  for (const Node& given : name == "to" || factory ? list.children() : std::vector<Node>()) {
    const bool named = given.is("keyword_argument");
    if (named ? given.field("name").text() != "dtype" : factory) continue;
    const std::string dtype = dtype_of(named ? given.field("value") : given);
    if (dtype.empty()) continue;
    cast.argument = given;
    cast.dtype = dtype;
  }
  return cast.dtype.empty() ? std::nullopt : std::optional(cast);
}

// Whether it runs whenever its function does.
bool is_sure(Node node) {
  for (; node && !node.is("function_definition"); node = node.parent()) {
    const bool perhaps = node.is("if_statement") || node.is("try_statement") || node.is("conditional_expression") ||
                         node.is("while_statement") || node.is("lambda");
    if (perhaps && node.field("condition").text().find("__name__") == std::string_view::npos) return false;
  }
  return true;
}

// `torch.set_default_dtype(torch.float64)`, a statement that runs once.
std::string standard_of(Node call) {
  const bool sets = call.is("call") && call.field("function").text() == "torch.set_default_dtype";
  const Node statement = call.parent();
  const bool once = is_sure(call) && !source::enclosing(call, "for_statement");
  if (!sets || !statement.is("expression_statement") || !once) return {};
  const auto given = call.field("arguments").children();
  return given.size() == 1 ? dtype_of(given[0]) : std::string();
}

// What methods are called on in turn: `x` of `x.to(device).half()`.
Node root_of(Node expression) {
  while (expression.is("call") && expression.field("function").is("attribute") &&
         expression.field("function").field("object").text() != "torch")
    expression = expression.field("function").field("object");
  return expression;
}

// Whether it has all elements of what methods are called on: `x.view(-1, 8).float()`.
bool has_all(Node expression) {
  constexpr std::array<std::string_view, 9> kSame{"to", "float", "half", "double", "bfloat16", "view", "reshape", "flatten", "contiguous"};
  for (; expression.is("call") && expression.field("function").is("attribute"); expression = expression.field("function").field("object")) {
    if (std::ranges::find(kSame, expression.field("function").field("attribute").text()) == kSame.end()) return false;
  }
  return true;
}

// The last of calls of methods in a row.
Node whole_of_chain(Node call) {
  while (call.parent().is("attribute") && call.parent().parent().is("call") &&
         call.parent().parent().field("function").id() == call.parent().id())
    call = call.parent().parent();
  return call;
}

// Calls outside of classes, in files of the project.
template <class Each>
void for_each_call(const Sources& sources, const Each& each) {
  for (const auto& [path, code] : sources.files) {
    if (sources.packages.contains(path)) continue;
    source::walk(code->root(), [&](Node node) {
      if (node.is("call")) each(node);
      return !node.is("class_definition");
    });
  }
}

using Uses = std::map<std::string, std::vector<Node>>;  // calls that get a name

void add_identifiers(Node call, Uses& to) {
  for (const Node& given : call.field("arguments").children()) {
    const Node root = root_of(given.is("keyword_argument") ? given.field("value") : given);
    if (root.is("identifier")) to[std::string(root.text())].push_back(call);
  }
}

// Of what has parameters, of what is handed to it, of what it gives, and of what the loss gets.
struct ScriptNames {
  std::set<std::string> models, results, losses;
  Uses given, lost;
  std::set<const void*> trains;  // functions that ask for parameters, or call the model for a loss; null: the top level
};

const void* function_of(Node node) {
  return source::enclosing(node, "function_definition").id();
}

bool is_among(const auto& all, Node name) {
  return name.is("identifier") && all.contains(std::string(name.text()));
}

// Whether all calls that get the name come after this one, in its function.
bool is_before(Node call, const Uses& uses, Node name) {
  const auto found = uses.find(std::string(name.text()));
  return name.is("identifier") && found != uses.end() && std::ranges::all_of(found->second, [&](Node use) {
           return use.code == call.code && function_of(use) == function_of(call) && span_of(use).first > span_of(call).first;
         });
}

bool calls_model(Node call, const ScriptNames& names) {
  return call.is("call") && is_among(names.models, call.field("function"));
}

// The name that is given a call's result, alone or as a term: `loss = criterion(x, y) + 0.1 * other`. Null: none.
Node sum_of(Node call) {
  Node above = whole_of_chain(call).parent();
  while (above.is("binary_operator") || above.is("parenthesized_expression")) above = above.parent();
  return above.is("assignment") ? above.field("left") : Node{};
}

ScriptNames names_of(const Sources& sources) {
  ScriptNames all;
  for_each_call(sources, [&](Node call) {
    const Node callee = call.field("function"), object = callee.field("object");
    if (!callee.is("attribute") || !object.is("identifier")) return;
    const bool asks = callee.field("attribute").text() == "parameters", goes_back = callee.field("attribute").text() == "backward";
    if (asks) all.models.emplace(object.text());
    if (goes_back) all.losses.emplace(object.text());
    if (asks || goes_back) all.trains.insert(function_of(call));
  });
  for_each_call(sources, [&](Node call) {
    const Node above = whole_of_chain(call).parent();
    if (calls_model(call, all)) {
      add_identifiers(call, all.given);
      const bool whole = has_all(whole_of_chain(call)) && above.is("assignment") && above.field("left").is("identifier");
      if (whole) all.results.emplace(above.field("left").text());
    } else if (is_among(all.losses, sum_of(call))) {
      add_identifiers(call, all.lost);
    }
  });
  return all;
}

// The name that an expression is given; null: none. Of `x, y = x.half(), y` that at its place.
Node name_given(Node value) {
  const Node above = value.parent();
  if (above.is("assignment") && above.field("right").id() == value.id()) return above.field("left");
  const Node whole = above.is("expression_list") ? above.parent() : Node{};
  if (!whole.is("assignment") || !whole.field("left").is("pattern_list")) return {};
  const auto values = above.children(), targets = whole.field("left").children();
  for (std::size_t at = 0; at < values.size() && at < targets.size(); ++at) {
    if (values[at].id() == value.id()) return targets[at];
  }
  return {};
}

// What goes, for the cast to go: `.half()`, or an argument among others.
Span part_of(const Cast& cast) {
  const auto given = cast.call.field("arguments").children();
  if (given.size() < 2) return {span_of(cast.of).second, span_of(cast.call).second};
  const auto own = std::ranges::find(given, cast.argument.id(), [](const Node& one) { return one.id(); });
  if (own == given.begin()) return {span_of(*own).first, span_of(*(own + 1)).first};
  return {span_of(*(own - 1)).second, span_of(*own).second};
}

std::optional<Site> site_of(const Cast& cast, const ScriptNames& names) {
  if (!is_sure(cast.call) || !names.trains.contains(function_of(cast.call))) return std::nullopt;
  Site site{.call = cast.call, .part = part_of(cast)};
  const Node whole = whole_of_chain(cast.call), target = name_given(whole), root = root_of(cast.of);
  site.of_model = is_among(names.models, target) || (is_among(names.models, root) && (!target || target.text() == root.text()));
  if (site.of_model) return site;
  const Node call = whole.parent().is("argument_list") ? whole.parent().parent() : Node{};
  const bool in_call = !target && call.is("call");
  if (in_call && !calls_model(call, names) && !is_among(names.losses, sum_of(call))) return std::nullopt;
  const Node name = in_call ? root : target;
  site.given = {.name = std::string(name.text()), .dtype = cast.dtype, .in_call = in_call};
  const bool result = calls_model(root, names) || (is_among(names.results, root) && !is_among(names.given, root));
  if (result && !has_all(whole)) return std::nullopt;
  if (result && (in_call || (is_among(names.results, target) && is_before(cast.call, names.lost, target)))) {
    site.given.of = CastOf::result;
  } else if (in_call ? calls_model(call, names) && root.is("identifier") : is_before(cast.call, names.given, name)) {
    site.given.of = CastOf::input;
  } else if (!is_among(names.given, name) && (in_call ? is_among(names.lost, name) : is_before(cast.call, names.lost, name))) {
    site.given.of = CastOf::target;
  } else {
    return std::nullopt;
  }
  return site;
}

// Whether a tensor or a model is made in the text before the statement.
bool makes_before(const Sources& sources, const ScriptNames& names, Node statement) {
  bool found = false;
  for_each_call(sources, [&](Node call) {
    if (call.code != statement.code || span_of(call).first >= span_of(statement).first) return;
    const std::string_view callee = call.field("function").text();
    found = found || callee.starts_with("torch.rand") || callee == "torch.zeros" || callee == "torch.ones" || callee == "torch.tensor" ||
            is_among(names.models, name_given(whole_of_chain(call)));
  });
  return found;
}

}  // namespace

ScriptCasts casts_in(const Sources& sources) {
  ScriptCasts all;
  const ScriptNames names = names_of(sources);
  all.models = names.models.size();
  for_each_call(sources, [&](Node call) {
    if (const std::string dtype = standard_of(call); !dtype.empty()) {
      all.standard = dtype;
      all.statements.push_back(call.parent());
      all.late = all.late || makes_before(sources, names, call.parent());
      return;
    }
    const auto cast = cast_of(call);
    const auto site = cast ? site_of(*cast, names) : std::nullopt;
    if (!site) return;
    if (site->of_model) all.model = cast->dtype;
    all.sites.push_back(*site);
  });
  return all;
}

}  // namespace hotlens::layers
