#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/edits/changes.h"
#include "annotator/common/character.h"

namespace hotlens::advice {
namespace {

// Of "model", "self.net_2".
bool is_of_name(char each) {
  return each == '_' || each == '.' || is_digit(each) || is_lower(each) || (each >= 'A' && each <= 'Z');
}

// "model" of `model = transformers.BertModel(config).to(device)`: a name, and what makes it is a call of that package, or a method on it
// that returns it.
std::optional<std::string> made_as(const PythonText& text, const Span& statement, std::string_view package) {
  const std::string_view words = text.at(statement);
  const std::size_t equals = words.find('=');
  if (equals == std::string_view::npos || words.substr(equals, 2) == "==") return std::nullopt;
  std::string_view name = words.substr(0, equals);
  while (name.ends_with(' ')) name.remove_suffix(1);
  if (name.empty() || !std::ranges::all_of(name, is_of_name)) return std::nullopt;
  const Call* outer = nullptr;  // the whole right side
  for (const Call& call : text.calls()) {
    if (call.whole.end == statement.end && call.whole.begin > statement.begin &&
        (!outer || call.whole.begin < outer->whole.begin || (call.whole.begin == outer->whole.begin && call.whole.end > outer->whole.end)))
      outer = &call;
  }
  if (outer == nullptr ||
      text.at(Span{statement.begin + static_cast<std::uint32_t>(equals) + 1, outer->whole.begin}).find_first_not_of(' ') !=
          std::string_view::npos)
    return std::nullopt;
  constexpr std::string_view kMoves[] = {".to", ".cuda", ".cpu", ".train"};
  while (!outer->what.starts_with(package)) {
    const std::string_view callee = text.at(outer->callee);
    const auto moves = std::ranges::find_if(kMoves, [&](std::string_view one) { return callee.ends_with(one); });
    if (moves == std::end(kMoves)) return std::nullopt;
    const std::uint32_t end = outer->callee.end - static_cast<std::uint32_t>(moves->size());
    const auto inner = std::ranges::find_if(
        text.calls(), [&](const Call& call) { return call.whole.begin == outer->callee.begin && call.whole.end == end; });
    if (inner == text.calls().end()) return std::nullopt;
    outer = &*inner;
  }
  return std::string(name);
}

}  // namespace

// Behind the statement that makes the model: `model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant":
// False})`.
Made model_switch(const Script& script, const profile::CheckpointSwitch& by) {
  const profile::ModelModule& owner = script.sources().model.modules[by.module];
  const std::string model = owner.path.empty() ? std::string("the model") : fmt::format("`{}`", owner.path);
  if (!owner.attached) return no(fmt::format("it is not known where {} is made", model));
  const std::size_t file = script.sources().file_of(*owner.attached);
  if (file == script.texts().size()) return no(fmt::format("{} is made in a library", model));
  const PythonText& text = script.texts()[file];
  const profile::Site& site = *owner.attached;
  auto span = text.span_of(site.line, site.end_line, site.column, site.end_column);
  while (span && span->begin < span->end && std::string_view(" \t").contains(text.text()[span->begin])) ++span->begin;
  const std::vector<Statement> block = span ? text.block_from(*span) : std::vector<Statement>{};
  const std::string where = fmt::format("{}:{}", script.name(file), site.line + 1);
  const std::string package = owner.package + ".";
  const auto name = block.empty() ? std::nullopt : made_as(text, block[0].span, package);
  const std::string indentation = block.empty() ? std::string() : script.indentation(file, block[0].span.begin);
  if (!name || indentation.find_first_not_of(" \t") != std::string::npos)
    return no(fmt::format("the statement that makes {} at {} is not one name and one call", model, where));
  if (text.text().contains(by.method)) return no(fmt::format("{} names {} already", script.name(file), by.method));
  const std::uint32_t line_ends =
      static_cast<std::uint32_t>(std::min(text.text().find_first_of("\r\n", block[0].span.end), text.text().size()));
  const std::string_view rest = text.at(Span{block[0].span.end, line_ends});
  const std::size_t behind = rest.find_first_not_of(" \t");
  if (behind != std::string_view::npos && rest[behind] != '#') return no(fmt::format("another statement stands on the line of {}", where));
  const std::string options = by.method.substr(0, by.method.find("_enable")) + "_kwargs";
  const std::string call = fmt::format("{}.{}({}={{\"use_reentrant\": False}})", *name, by.method, options);
  return Edits{{file, {{{line_ends, line_ends}, std::string(line_end(text.text())) + indentation + call}}}};
}

}  // namespace hotlens::advice
