#include "server/features/hints/symbols.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "annotator/profile/build/module_name.h"
#include "annotator/source/queries.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

constexpr std::size_t kLongestSymbol = 60;  // characters

// The name of the layers that the line makes: that of the first, or its class where they are numbered or differ.
std::string layer_name(const profile::Profile& profile, const std::vector<profile::ModuleId>& modules) {
  const profile::Module& first = profile.at(modules.front());
  const std::string_view name = last_name(first);
  const bool same = std::ranges::all_of(modules, [&](profile::ModuleId id) { return last_name(profile.at(id)) == name; });
  const bool numbered = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
  return plain(same && !numbered ? name : std::string_view(first.class_name), kLongestSymbol);
}

// What stands on the line, when that is more than its text.
Symbol named(const FileView& view, const LineFacts& line, std::string_view text) {
  const auto role = [&](std::uint32_t fact) { return view.facts->anchors.facts()[fact].role; };
  Symbol symbol{.name = plain(text, kLongestSymbol), .detail = "", .kind = Symbol::Kind::line, .range = {}, .selection = {}};
  if (std::ranges::any_of(line.facts, [&](std::uint32_t fact) { return role(fact) == source::Role::stage; })) {
    symbol.kind = Symbol::Kind::stage;
    return symbol;
  }
  const auto definition = std::ranges::find(line.facts, source::Role::definition, role);
  if (definition == line.facts.end()) return symbol;
  const std::vector<profile::ModuleId>& modules = view.facts->meanings[*definition].modules;
  std::string name = modules.empty() ? "" : layer_name(*view.profile, modules);
  symbol.kind = Symbol::Kind::layer;
  if (!name.empty()) symbol.name = std::move(name);
  return symbol;
}

// Symbols that may still get children, the outermost first.
class Nest {
 public:
  // The list that what stands inside `scopes` belongs to; classes and functions that are new are added.
  std::vector<Symbol>& inside(const std::vector<source::Scope>& scopes) {
    std::vector<Symbol>* list = &roots_;
    bool in_class = false;
    for (const source::Scope& scope : scopes) {
      if (list->empty() || list->back().selection != scope.name_range) {
        const auto kind = scope.is_class ? Symbol::Kind::type : in_class ? Symbol::Kind::method : Symbol::Kind::function;
        list->push_back(
            {.name = plain(scope.name, kLongestSymbol), .detail = "", .kind = kind, .range = scope.range, .selection = scope.name_range});
      }
      in_class = scope.is_class;
      list = &list->back().children;
    }
    return *list;
  }
  // Of what inside() found last: the innermost of the scopes.
  Symbol& innermost(const std::vector<source::Scope>& scopes) {
    inside(scopes);
    Symbol* symbol = &roots_.back();
    for (std::size_t depth = 1; depth < scopes.size(); ++depth) symbol = &symbol->children.back();
    return *symbol;
  }
  std::vector<Symbol> take() && { return std::move(roots_); }

 private:
  std::vector<Symbol> roots_;
};

}  // namespace

std::vector<Symbol> symbols(const FileView& view, std::span<const Hint> hints) {
  Nest nest;
  const std::string_view text = view.tree.text();
  std::size_t start = 0;  // of line `at`
  std::uint32_t at = 0;
  auto hint = hints.begin();
  for (const LineFacts& line : facts_by_line(view, {})) {
    while (hint != hints.end() && hint->at.line < line.line) ++hint;
    if (hint == hints.end()) break;
    if (hint->at.line != line.line) continue;
    for (; at < line.line; ++at) start = text.find('\n', start) + 1;
    const std::string_view whole = text.substr(start, hint->at.column);
    const std::string_view code = trimmed(whole);
    const auto first = static_cast<std::uint32_t>(code.data() - whole.data());
    const std::vector<source::Scope> scopes = source::scopes_at(view.tree, {line.line, first});
    if (!scopes.empty() && scopes.back().name_range.begin.line == line.line) {
      nest.innermost(scopes).detail = hint->label;
      continue;
    }
    Symbol symbol = named(view, line, code);
    if (symbol.name.empty()) continue;
    symbol.detail = hint->label;
    symbol.range = symbol.selection = {{line.line, first}, hint->at};
    nest.inside(scopes).push_back(std::move(symbol));
  }
  return std::move(nest).take();
}

}  // namespace hotlens::features
