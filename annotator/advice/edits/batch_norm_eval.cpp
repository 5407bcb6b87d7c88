// Lines that turn the batch norms to evaluation, behind each `model.train()` of the script; where it has none, before its optimizer is
// made.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/time_loops.h"

namespace hotlens::advice {
namespace {

// `torch.nn.BatchNorm2d`, or several in parentheses. The error: a layer is of no class of torch.nn.
std::expected<std::string, NoEdit> classes_of_norms(const Script& script, std::span<const std::string> paths) {
  constexpr auto kNorms = std::to_array<std::string_view>({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"});
  std::string all;
  const std::set<std::string> classes = script.classes_of(paths);
  for (const std::string& name : classes) {
    if (std::ranges::find(kNorms, name) == kNorms.end()) return no(fmt::format("`{}` normalizes in its own code", name));
    all += (all.empty() ? "torch.nn." : ", torch.nn.") + name;
  }
  if (all.empty()) return no("no layer is known to be a batch norm");
  return classes.size() == 1 ? all : "(" + all + ")";
}

// What `.train()` is called on.
std::string_view receiver(const PythonText& text, const Call& call) {
  const std::string_view callee = text.at(call.callee);
  return callee.substr(0, callee.size() - std::string_view(".train").size());
}

// The names that the loop and the optimizer have for the model.
std::set<std::string> names_of_model(const Script& script, const std::pair<std::size_t, Span>& forward) {
  std::set<std::string> names;
  for (const Call& call : script.texts()[forward.first].calls()) {
    if (forward.second.holds(call.whole)) names.emplace(script.texts()[forward.first].at(call.callee));
  }
  if (const auto made = script.optimizer_call()) names.insert(model_of(script.texts()[made->file], *made->call));
  names.erase("");
  return names;
}

struct Place {
  std::size_t file = 0;
  Span statement;
  std::string model;
};

// Of a call of train(), which has to be on the model and a statement of its own, or the last thing that is done to make the model.
std::expected<Place, NoEdit> place_of_train(const Script& script, const Found& train, const std::set<std::string>& names) {
  const PythonText& text = script.texts()[train.file];
  const std::string where = script.places({train});
  const bool on = train.call->given.empty() || (train.call->given.size() == 1 && train.call->given[0].kind == "true");
  if (!on) return no(fmt::format("whether the model trains is an expression, at {}", where));
  const TSNode above = ts_node_parent(node_of(text, *train.call));
  const bool assigned = type(above) == "assignment", whole = assigned || type(above) == "expression_statement";
  const std::string model(assigned ? text.at(field(above, "left")) : receiver(text, *train.call));
  if (!whole || !names.contains(model)) return no(fmt::format("it is not certain that train() is called on the model, at {}", where));
  return Place{train.file, text.block_from(train.call->whole)[0].span, model};
}

// Behind the statement, on lines of their own.
std::expected<Replacement, NoEdit> lines_behind(const Script& script, const Place& place, const std::string& lines) {
  const std::string& text = script.texts()[place.file].text();
  const std::size_t end = std::min(text.find_first_of("\r\n", place.statement.end), text.size());
  const std::string_view rest = std::string_view(text).substr(place.statement.end, end - place.statement.end);
  const std::size_t more = rest.find_first_not_of(" \t");
  const std::string indentation = script.indentation(place.file, place.statement.begin);
  if ((more != std::string_view::npos && rest[more] != '#') || indentation.find_first_not_of(" \t") != std::string::npos)
    return no("another statement stands on the line of train(), at " + script.place(place.file, place.statement.begin));
  const auto at = static_cast<std::uint32_t>(end);
  return Replacement{{at, at}, std::string(line_end(text)) + indentation + lines};
}

// Three lines, of which the first has no indentation.
std::string turning_off(const PythonText& text, const std::string& model, const std::string& classes, const std::string& indentation) {
  const std::string name = fresh_name(text, "each_norm");
  const std::string end(line_end(text.text())), deeper = indentation.contains('\t') ? "\t" : "    ";
  return fmt::format("for {0} in {1}.modules():{2}{3}{4}if isinstance({0}, {5}):{2}{3}{4}{4}{0}.eval()", name, model, end, indentation,
                     deeper, classes);
}

}  // namespace

Made batch_norm_eval(const Script& script, std::span<const std::string> paths) {
  const auto classes = classes_of_norms(script, paths);
  if (!classes) return std::unexpected(classes.error());
  const auto forward = script.stage(attribution::Stage::forward);
  if (!forward) return no("a library calls the model, and may call train(), too");
  const std::set<std::string> names = names_of_model(script, *forward);
  const auto is_train = [](const PythonText& text, const Call& call) { return text.at(call.callee).ends_with(".train"); };
  ByPlace edits;
  for (const Found& train : script.calls(is_train)) {
    const auto place = place_of_train(script, train, names);
    if (!place) return std::unexpected(place.error());
    const PythonText& text = script.texts()[place->file];
    auto edit =
        lines_behind(script, *place, turning_off(text, place->model, *classes, script.indentation(place->file, place->statement.begin)));
    if (!edit) return std::unexpected(edit.error());
    edits[place->file].emplace(edit->span.begin, std::move(*edit));
  }
  if (!edits.empty()) return listed(std::move(edits), {"torch"});
  const auto made = script.optimizer_call();
  if (!made) return std::unexpected(made.error());
  const PythonText& text = script.texts()[made->file];
  const std::string model = model_of(text, *made->call);
  if (model.empty()) return no("the optimizer's parameters are not those of one model");
  const std::vector<Statement> block = text.block_from(made->call->whole);
  const std::string indentation = block.empty() ? std::string() : script.indentation(made->file, block[0].span.begin);
  return before_statement(script, *made, turning_off(text, model, *classes, indentation), {"torch"});
}

}  // namespace hotlens::advice
