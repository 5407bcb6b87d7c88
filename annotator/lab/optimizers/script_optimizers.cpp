#include "annotator/lab/optimizers/script_optimizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

constexpr std::string_view kModule = "torch.optim";
constexpr const char* kSeveral = "which of several optimizers takes the recorded step is not followed";

// Parameters of the constructors in order, after that for the parameters of the model; what comes after them is given by name.
constexpr std::array<std::string_view, 5> kOfSgd{"lr", "momentum", "dampening", "weight_decay", "nesterov"};
constexpr std::array<std::string_view, 5> kOfAdam{"lr", "betas", "eps", "weight_decay", "amsgrad"};
constexpr std::array<std::string_view, 12> kNames{"lr",       "betas",    "eps",     "weight_decay", "momentum",   "dampening",
                                                  "nesterov", "maximize", "amsgrad", "foreach",      "capturable", "differentiable"};

struct Stated {
  Node call, parameters;
  std::string name;
  std::map<std::string, Node, std::less<>> options;
};

// "AdamW", where the callee is that of torch.optim; empty: something else.
std::string optimizer_named(Node callee) {
  std::string name;
  if (callee.is("identifier")) {
    const source::Binding* binding = only_binding(*callee.code, callee.text());
    if (binding == nullptr || binding->kind != source::Binding::Kind::member || !binding->module.starts_with(kModule)) return {};
    name = binding->name;
  } else if (callee.is("attribute")) {
    const std::string_view object = callee.field("object").text();
    const source::Binding* binding = object == kModule ? nullptr : only_binding(*callee.code, object);
    const bool module =
        binding != nullptr && ((binding->kind == source::Binding::Kind::module && binding->module == kModule) ||
                               (binding->kind == source::Binding::Kind::member && binding->module == "torch" && binding->name == "optim"));
    if (object != kModule && !module) return {};
    name = callee.field("attribute").text();
  }
  return name == "SGD" || name == "Adam" || name == "AdamW" ? name : std::string();
}

// Nullopt: no such call, or one with options that are not known here.
std::optional<Stated> stated(Node call) {
  const Node list = call.field("arguments");
  Stated one{.call = call, .parameters = {}, .name = optimizer_named(call.field("function")), .options = {}};
  if (one.name.empty() || !list.is("argument_list")) return std::nullopt;
  const std::span<const std::string_view> order =
      one.name == "SGD" ? std::span<const std::string_view>(kOfSgd) : std::span<const std::string_view>(kOfAdam);
  std::size_t place = 0;
  for (const Node& given : list.children()) {
    if (given.is("list_splat") || given.is("dictionary_splat")) return std::nullopt;
    const bool named = given.is("keyword_argument");
    const std::string name(named ? given.field("name").text() : place == 0 ? "params" : place <= order.size() ? order[place - 1] : "");
    const Node value = named ? given.field("value") : given;
    if (name == "params") {
      one.parameters = value;
    } else if (name != "fused" && !is_among(kNames, name)) {
      return std::nullopt;
    } else {
      one.options[name] = value;
    }
    place += named ? 0 : 1;
  }
  const auto given = [&](std::string_view name) { return one.options.find(name); };
  for (const std::string_view name : {"capturable", "differentiable"}) {
    if (const auto found = given(name); found != one.options.end() && number_of(found->second) != 0) return std::nullopt;
  }
  const auto rate = given("lr");
  const bool tensor = rate != one.options.end() && rate->second.text().find("tensor(") != std::string_view::npos;
  return one.parameters && !tensor ? std::optional(one) : std::nullopt;
}

// Whether parameters come in groups that may have options of their own.
bool may_be_grouped(Node parameters) {
  if (!parameters.is("call")) return !parameters.is("list_comprehension") && !parameters.is("generator_expression");
  const Node callee = parameters.field("function");
  if (callee.is("attribute")) return callee.field("attribute").text() != "parameters";
  const auto given = parameters.field("arguments").children();
  if (callee.text() == "filter") return false;
  return callee.text() != "list" || given.size() != 1 || may_be_grouped(given[0]);
}

// How often a text has it as a key: `{"weight_decay": 0.1}`.
std::size_t times_named(const source::Code& code, std::string_view key) {
  std::size_t times = 0;
  for (const char quote : {'"', '\''}) {
    const std::string wanted = quote + std::string(key) + quote;
    for (std::size_t at = 0; (at = code.text().find(wanted, at)) != std::string::npos; at += wanted.size()) ++times;
  }
  return times;
}

// What an option says in both texts.
class Option {
 public:
  Option(const Stated& was, const Stated& is, std::string_view name)
      : was_(was), is_(is), name_(name), then_(value(was)), now_(value(is)) {}

  // Whether the update may have other operators for it.
  bool differs() const { return then_ && now_ ? (*then_ != 0) != (*now_ != 0) : !same_words(); }

  // Absent: as recorded.
  std::expected<std::optional<double>, Unclear> target() const {
    const bool recorded = has(was_);
    if (recorded && !differs()) return std::nullopt;
    const source::Code& code = *is_.call.code;
    const std::size_t groups = times_named(code, "params"), own = times_named(code, name_);
    const bool grouped = may_be_grouped(is_.parameters) && (own > 0 || code.text().find("dict(") != std::string::npos);
    if (grouped && recorded && groups > 0 && own == groups) return std::nullopt;  // each says it itself
    if (grouped && differs())
      return std::unexpected(
          Unclear{.reason = fmt::format("which parameters have a `{}` of their own is not followed", name_), .at = line_of(is_.call)});
    if (!now_) return std::unexpected(Unclear{.reason = fmt::format("what `{}` is cannot be told", name_), .at = line_of(is_.call)});
    return now_;
  }

 private:
  // Whether the class has it.
  bool has(const Stated& one) const {
    constexpr std::array<std::string_view, 3> kSgdOnly{"momentum", "dampening", "nesterov"};
    return is_among(kSgdOnly, name_) ? one.name == "SGD" : name_ != "amsgrad" || one.name != "SGD";
  }

  std::optional<double> value(const Stated& one) const {
    const auto given = one.options.find(name_);
    if (given == one.options.end()) return name_ == "weight_decay" && one.name == "AdamW" ? 0.01 : 0;
    return number_of(given->second);
  }

  bool same_words() const {
    const auto then = was_.options.find(name_), now = is_.options.find(name_);
    return then != was_.options.end() && now != is_.options.end() && same_wording(then->second, now->second);
  }

  const Stated &was_, &is_;
  std::string_view name_;
  std::optional<double> then_, now_;
};

// As written; a name that stands for a number is that number.
std::string shown_value(Node value) {
  const auto number = value.is("identifier") ? number_of(value) : std::nullopt;
  return number ? fmt::format("{:g}", *number) : std::string(value.text());
}

// "SGD(momentum=0.9)": with what decides about its operators.
std::string shown(const Stated& one) {
  constexpr std::array<std::string_view, 7> kTold{"weight_decay", "momentum", "nesterov", "amsgrad", "maximize", "foreach", "fused"};
  std::string options;
  for (const auto& [name, value] : one.options) {
    if (is_among(kTold, name)) options += fmt::format("{}{}={}", options.empty() ? "" : ", ", name, shown_value(value));
  }
  return options.empty() ? one.name : fmt::format("{}({})", one.name, options);
}

void add_stated(const source::Code& code, std::vector<Stated>& to) {
  if (code.text().find("optim") == std::string::npos) return;
  source::walk(code.root(), [&](Node node) {
    if (auto one = node.is("call") ? stated(node) : std::nullopt) to.push_back(std::move(*one));
    return true;
  });
}

// Of the files that were edited, in order.
std::vector<Stated> all_stated(const Sources& sources, const Sources& other) {
  std::vector<Stated> all;
  for (const source::Code* code : edited_files(sources, other)) add_stated(*code, all);
  return all;
}

// In the whole project.
std::size_t count_stated(const Sources& sources) {
  std::vector<Stated> all;
  for (const auto& [path, code] : sources.files) {
    if (!sources.packages.contains(path)) add_stated(*code, all);
  }
  return all.size();
}

// Whether what a file imports is of torch.optim alone, under its own name.
bool imports_optimizers(Node statement) {
  const bool from = statement.is("import_from_statement") && statement.field("module_name").text().starts_with(kModule);
  return from && statement.children("aliased_import").empty();
}

struct Pair {
  const Stated &was, &is;
};

// Calls become `callee(parameters)`, on as many lines, with the executed callee; which classes are imported says nothing then.
void make_plain(Sources& sources, const std::vector<Pair>& pairs, const Stated& (*own)(const Pair&)) {
  Pieces spans;
  for (const Pair& pair : pairs) {
    const Stated& one = own(pair);
    const std::string_view parameters = one.parameters.text();
    spans[one.call.code][span_of(one.call)] = fmt::format("{}({}{})", pair.was.call.field("function").text(), parameters,
                                                          line_ends(one.call.text()).substr(line_ends(parameters).size()));
  }
  for (auto& [code, pieces] : spans) {
    source::walk(code->root(), [&](Node node) {
      if (imports_optimizers(node)) pieces[span_of(node)] = passed(node);
      return !node.is("function_definition") && !node.is("class_definition");
    });
  }
  replace_in(sources.files, spans);
}

// Calls of step() of the optimizers, where one function has all of them: whether they are that of the call. Empty: not known.
std::vector<bool> calls_of_step(const std::vector<Stated>& all, const Stated& wanted) {
  std::map<std::string_view, const Stated*> names;
  for (const Stated& one : all) {
    const Node above = one.call.parent();
    if (above.is("assignment") && !names.emplace(above.field("left").text(), &one).second) return {};
  }
  std::vector<bool> calls;
  std::vector<const void*> functions;
  source::walk(wanted.call.code->root(), [&](Node node) {
    const Node callee = node.is("call") ? node.field("function") : Node{};
    const auto found =
        callee.is("attribute") && callee.field("attribute").text() == "step" ? names.find(callee.field("object").text()) : names.end();
    if (found == names.end()) return true;
    calls.push_back(found->second == &wanted);
    functions.push_back(source::enclosing(node, "function_definition").id());
    return true;
  });
  const bool together = std::ranges::all_of(functions, [&](const void* one) { return one == functions.front(); });
  return together ? calls : std::vector<bool>();
}

bool is_of_other_form(const Stated& was, const Stated& is) {
  return Option(was, is, "foreach").differs() || Option(was, is, "fused").differs();
}

constexpr std::array<std::string_view, 5> kOptions{"weight_decay", "momentum", "nesterov", "amsgrad", "maximize"};

bool says_the_same(const Stated& was, const Stated& is) {
  return same_wording(was.call, is.call) &&
         std::ranges::none_of(kOptions, [&](std::string_view name) { return Option(was, is, name).differs(); });
}

std::optional<bool> is_set(std::optional<double> number) {
  return number ? std::optional(*number != 0) : std::nullopt;
}

bool is_of(std::string_view option, const Stated& one) {
  const bool sgd = one.name == "SGD", sgd_alone = option == "momentum" || option == "nesterov";
  return sgd ? option != "amsgrad" : !sgd_alone;
}

// As the what-if of it is called.
std::string of_form(const Stated& was, const Stated& is) {
  for (const std::string_view name : {"fused", "foreach"}) {
    const auto given = is.options.find(name);
    if (given != is.options.end() && Option(was, is, name).differs())
      return fmt::format("Optimizer with {}={}", name, given->second.text());
  }
  return shown(was) + " → " + shown(is);
}

// Nullopt: the same update.
std::expected<std::optional<OptimizerEdit>, Unclear> edit_between(const Stated& was, const Stated& is, const std::vector<Stated>& all) {
  const auto unclear = [&](const char* reason) { return std::unexpected(Unclear{.reason = reason, .at = line_of(is.call)}); };
  std::map<std::string_view, std::optional<double>> targets;
  bool differs = was.name != is.name;
  for (const std::string_view name : kOptions) {
    if (!is_of(name, is)) continue;
    const Option option(was, is, name);
    const auto target = option.target();
    if (!target) return std::unexpected(target.error());
    targets[name] = *target;
    differs = differs || option.differs();
  }
  const bool reformed = is_of_other_form(was, is);
  if (!differs && !reformed) return std::nullopt;
  OptimizerEdit edit{.was_adam = was.name != "SGD",
                     .adam = is.name != "SGD",
                     .decoupled = is.name == "AdamW",
                     .weight_decay = targets["weight_decay"],
                     .momentum = targets["momentum"],
                     .nesterov = is_set(targets["nesterov"]),
                     .amsgrad = is_set(targets["amsgrad"]),
                     .maximize = is_set(targets["maximize"]),
                     .lists = {},
                     .fused = {},
                     .calls = all.size() > 1 ? calls_of_step(all, is) : std::vector<bool>(),
                     .what = differs ? shown(was) + " → " + shown(is) : of_form(was, is),
                     .at = line_of(is.call)};
  if (all.size() > 1 && edit.calls.empty()) return unclear(kSeveral);
  if (reformed) {
    const auto form = [&](std::string_view name) {
      const auto given = is.options.find(name);
      return given == is.options.end() ? std::optional(0.0) : number_of(given->second);
    };
    const auto lists = form("foreach"), fused = form("fused");
    if (!lists || !fused) return unclear("which form of the update this takes cannot be told");
    edit.lists = *lists != 0;
    edit.fused = *fused != 0;
  }
  return edit;
}

}  // namespace

TakenOut<OptimizerEdit> without_optimizers(const Sources& executed, const Sources& edited) {
  const std::vector<Stated> was = all_stated(executed, edited), is = all_stated(edited, executed);
  if (was.size() != is.size()) return std::nullopt;
  Plain<OptimizerEdit> plain{.executed = executed, .edited = edited, .edits = {}};
  std::vector<Pair> pairs;
  for (std::size_t at = 0; at < is.size(); ++at) {
    if (says_the_same(was[at], is[at])) continue;
    auto edit = edit_between(was[at], is[at], is);
    if (!edit) return std::unexpected(std::move(edit.error()));
    if (*edit) plain.edits.push_back(std::move(**edit));
    pairs.push_back({was[at], is[at]});
  }
  if (pairs.empty()) return std::nullopt;
  if (!plain.edits.empty() && count_stated(edited) != is.size())
    return std::unexpected(Unclear{.reason = kSeveral, .at = plain.edits.front().at});
  make_plain(plain.executed, pairs, [](const Pair& pair) -> const Stated& { return pair.was; });
  make_plain(plain.edited, pairs, [](const Pair& pair) -> const Stated& { return pair.is; });
  return plain;
}

}  // namespace hotlens::layers
