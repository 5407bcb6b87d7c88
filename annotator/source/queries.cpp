#include "annotator/source/queries.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "annotator/source/outline/normal_form.h"
#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {
namespace {

// The first statement with a byte of the line.
const Statement* first_on_line(const Tree::Data& data, std::uint32_t line) {
  const auto& [statements, lines] = data.outline;
  if (line >= lines.size()) return nullptr;
  std::uint32_t begin = lines[line], end = line + 1 < lines.size() ? lines[line + 1] : static_cast<std::uint32_t>(data.text.size());
  auto found = std::ranges::partition_point(statements, [&](const Statement& s) { return s.end <= begin; });
  return found != statements.end() && found->begin < end ? &*found : nullptr;
}

// Where a name is called in code: token sequences `name (`, with the statement and the two tokens before, empty where there are none. Text
// search first, because few files have any.
template <class Accept>
bool calls_name(const Tree::Data& data, std::string_view name, Accept accept) {
  for (std::size_t at = data.text.find(name); at != std::string::npos; at = data.text.find(name, at + 1)) {
    std::uint32_t index = statement_at(data.outline, static_cast<std::uint32_t>(at));
    if (index == kNoStatement) continue;
    const Statement& statement = data.outline.statements[index];
    Tokens tokens = tokens_between(data.text, statement.begin, statement.end);
    const auto before = [&](std::size_t i, std::size_t by) { return i >= by ? text_of(data.text, tokens[i - by]) : std::string_view(); };
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      bool here = tokens[i].begin == at && text_of(data.text, tokens[i]) == name;
      if (here && text_of(data.text, tokens[i + 1]) == "(" && accept(index, before(i, 2), before(i, 1))) return true;
    }
  }
  return false;
}

// `. name (`
template <class Accept>
bool calls_method(const Tree::Data& data, std::string_view method, Accept accept) {
  return calls_name(data, method, [&](std::uint32_t index, std::string_view object, std::string_view before) {
    return before == "." && accept(index, object);
  });
}

// The innermost loop around a statement, or kNoStatement.
std::uint32_t loop_around(const Outline& outline, std::uint32_t index) {
  while (index != kNoStatement && outline.statements[index].kind != StatementKind::loop) index = outline.statements[index].parent;
  return index;
}

// The innermost loop around a statement; else around what calls the function that it stands in, and so on. Each function once, and few:
// every one reads the text.
class LeadingLoop {
 public:
  explicit LeadingLoop(const Tree::Data& data) : data_(data) {}

  std::uint32_t of(std::uint32_t index) {
    if (const std::uint32_t loop = loop_around(data_.outline, index); loop != kNoStatement) return loop;
    const std::uint32_t function = statement(index).scope;
    if (function == kNoStatement || statement(function).kind != StatementKind::function) return kNoStatement;
    return asked_.size() < kMost && asked_.insert(function).second ? around_calls(function) : kNoStatement;
  }

 private:
  static constexpr std::size_t kMost = 16;

  const Statement& statement(std::uint32_t index) const { return data_.outline.statements[index]; }

  std::uint32_t around_calls(std::uint32_t function) {
    const std::uint32_t holder = statement(function).scope;
    const bool method = holder != kNoStatement && statement(holder).kind == StatementKind::type;
    std::uint32_t found = kNoStatement;
    const auto leads = [&](std::uint32_t caller, std::string_view, std::string_view before) {
      if (before == "def" || (before == ".") != method || (caller >= function && caller < statement(function).below)) return false;
      found = of(caller);
      return found != kNoStatement;
    };
    const auto [begin, end] = std::pair(statement(function).name_begin, statement(function).name_end);
    return end > begin && calls_name(data_, std::string_view(data_.text).substr(begin, end - begin), leads) ? found : kNoStatement;
  }

  const Tree::Data& data_;
  std::set<std::uint32_t> asked_;
};

bool in_loop(const Outline& outline, std::uint32_t index) {
  return loop_around(outline, index) != kNoStatement;
}

bool sounds_like_trainer(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.ends_with("trainer");
}

bool has_statement(const Tree::Data& data, std::string_view first, std::string_view mentions) {
  return std::ranges::any_of(data.outline.statements, [&](const Statement& statement) {
    std::string_view text = std::string_view(data.text).substr(statement.begin, statement.end - statement.begin);
    return text.starts_with(first) && text.find(mentions) != std::string_view::npos;
  });
}

}  // namespace

std::optional<Range> statement_at(const Tree& tree, std::uint32_t line) {
  const Statement* found = first_on_line(tree.data(), line);
  return found ? std::optional(range_of(tree.data().outline, *found)) : std::nullopt;
}

std::vector<Scope> scopes_at(const Tree& tree, Position at) {
  const Tree::Data& data = tree.data();
  std::vector<Scope> scopes;
  std::uint32_t byte = 0;
  if (!byte_of(data.outline, data.text, at, byte)) return scopes;
  for (std::uint32_t index = statement_at(data.outline, byte); index != kNoStatement; index = data.outline.statements[index].scope) {
    const Statement& statement = data.outline.statements[index];
    if (statement.kind != StatementKind::function && statement.kind != StatementKind::type) continue;
    if (statement.name_end <= statement.name_begin) continue;  // being typed
    const Statement& last = data.outline.statements[std::max(index + 1, statement.below) - 1];
    const auto place = [&](std::uint32_t offset) { return position_of(data.outline, offset); };
    scopes.push_back({.name = data.text.substr(statement.name_begin, statement.name_end - statement.name_begin),
                      .is_class = statement.kind == StatementKind::type,
                      .range = {place(statement.head), place(std::max(statement.end, last.end))},
                      .name_range = {place(statement.name_begin), place(statement.name_end)}});
  }
  std::ranges::reverse(scopes);
  return scopes;
}

bool looks_like_training_script(const Tree& tree) {
  const Tree::Data& data = tree.data();
  auto any = [](std::uint32_t, std::string_view) { return true; };
  auto looped = [&](std::uint32_t index, std::string_view) { return in_loop(data.outline, index); };
  auto trainer = [](std::uint32_t, std::string_view object) { return sounds_like_trainer(object); };
  if (calls_method(data, "backward", any) || calls_method(data, "step", looped) || calls_method(data, "fit", any)) return true;
  if (calls_method(data, "train", trainer)) return true;
  bool torch = has_statement(data, "import ", "torch") || has_statement(data, "from torch", "import");
  return torch && has_statement(data, "if ", "__main__");
}

std::optional<std::uint32_t> training_line(const Tree& tree) {
  if (!looks_like_training_script(tree)) return std::nullopt;
  const Tree::Data& data = tree.data();
  std::uint32_t found = kNoStatement;
  const auto its_loop = [&](std::uint32_t index, std::string_view) { return (found = loop_around(data.outline, index)) != kNoStatement; };
  const auto itself = [&](std::uint32_t index, std::string_view) { return found = index, true; };
  const auto of_trainer = [&](std::uint32_t index, std::string_view object) {
    return sounds_like_trainer(object) && itself(index, object);
  };
  LeadingLoop leading(data);
  const auto leading_loop = [&](std::uint32_t index, std::string_view) { return (found = leading.of(index)) != kNoStatement; };
  if (calls_method(data, "backward", leading_loop) || calls_method(data, "step", its_loop) || calls_method(data, "fit", itself) ||
      calls_method(data, "train", of_trainer) || calls_method(data, "backward", itself)) {
    return position_of(data.outline, data.outline.statements[found].head).line;
  }
  const auto guard = std::ranges::find_if(data.outline.statements, [&](const Statement& statement) {
    const std::string_view text = std::string_view(data.text).substr(statement.begin, statement.end - statement.begin);
    return text.starts_with("if ") && text.contains("__main__");
  });
  return guard == data.outline.statements.end() ? std::nullopt : std::optional(position_of(data.outline, guard->head).line);
}

}  // namespace hotlens::source
