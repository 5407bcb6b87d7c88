#include "annotator/source/outline/tree_data.h"

#include <algorithm>
#include <cstring>
#include <utility>

extern "C" const TSLanguage* tree_sitter_python();

namespace hotlens::source {
namespace {

// Edits kept for a tree that nobody parses; with more of them a fresh parse is as cheap.
constexpr std::size_t kMostEdits = 256;

struct ParserDeleter {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};

// The text as the grammar reads it rightly, every byte at its place: it ends lines at "\n" only, and takes `type(x).y = z` for a type
// alias.
std::string for_grammar(std::string_view text, const Outline& outline) {
  std::string changed(text);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (changed[i] == '\r' && (i + 1 == changed.size() || changed[i + 1] != '\n')) changed[i] = '\n';
  }
  for (const Statement& statement : outline.statements) {
    if (text.substr(statement.begin).starts_with("type(")) changed[statement.begin] = 'T';
  }
  return changed;
}

SyntaxTree parse_syntax(const std::string& text, const TSTree* before) {
  std::unique_ptr<TSParser, ParserDeleter> parser(ts_parser_new());
  ts_parser_set_language(parser.get(), tree_sitter_python());
  return SyntaxTree(ts_parser_parse_string(parser.get(), before, text.data(), static_cast<std::uint32_t>(text.size())));
}

TSPoint point(const Position& at) {
  return {at.line, at.column};
}

// The edit that really lies between two texts, should the given one not fit them: from their common beginning to their common end.
Edit difference(std::string_view before, std::string_view after) {
  auto differs = std::ranges::mismatch(before, after);
  auto start = static_cast<std::size_t>(differs.in1 - before.begin());
  std::size_t most = std::min(before.size(), after.size()) - start, same = 0;
  while (same < most && before[before.size() - 1 - same] == after[after.size() - 1 - same]) ++same;
  return {.start_byte = static_cast<std::uint32_t>(start),
          .old_end_byte = static_cast<std::uint32_t>(before.size() - same),
          .new_end_byte = static_cast<std::uint32_t>(after.size() - same)};
}

bool fits(const Edit& edit, std::string_view before, std::string_view after) {
  bool ordered = edit.start_byte <= edit.old_end_byte && edit.start_byte <= edit.new_end_byte && edit.old_end_byte <= before.size() &&
                 edit.new_end_byte <= after.size();
  return ordered && before.size() - edit.old_end_byte == after.size() - edit.new_end_byte &&
         before.substr(0, edit.start_byte) == after.substr(0, edit.start_byte) &&
         before.substr(edit.old_end_byte) == after.substr(edit.new_end_byte);
}

}  // namespace

SyntaxTree parse_text(const std::string& text) {
  return parse_syntax(text, nullptr);
}

SyntaxTree Tree::Data::syntax() const {
  std::scoped_lock lock(mutex_);
  if (!syntax_) {
    for (const TSInputEdit& edit : edits_) ts_tree_edit(ancestor_.get(), &edit);
    syntax_ = parse_syntax(for_grammar(text, outline), ancestor_.get());
    ancestor_.reset();
    edits_.clear();
  }
  return SyntaxTree(ts_tree_copy(syntax_.get()));
}

void Tree::Data::inherit(const Data& before, const TSInputEdit& edit) {
  std::scoped_lock lock(before.mutex_);
  const SyntaxTree& parsed = before.syntax_ ? before.syntax_ : before.ancestor_;
  if (!parsed || before.edits_.size() >= kMostEdits) return;
  ancestor_.reset(ts_tree_copy(parsed.get()));
  edits_ = before.edits_;
  edits_.push_back(edit);
}

Tree Tree::parse(std::string text) {
  auto data = std::make_shared<Data>();
  data->text = std::move(text);
  data->outline = outline_of(data->text);
  return Tree(std::move(data));
}

Tree Tree::edited(const Edit& given, std::string text) const {
  Edit edit = fits(given, data_->text, text) ? given : difference(data_->text, text);
  auto data = std::make_shared<Data>();
  data->text = std::move(text);
  data->outline = outline_after(data_->outline, data->text, edit.start_byte, edit.old_end_byte, edit.new_end_byte);
  TSInputEdit input{.start_byte = edit.start_byte,
                    .old_end_byte = edit.old_end_byte,
                    .new_end_byte = edit.new_end_byte,
                    .start_point = point(position_of(data_->outline, edit.start_byte)),
                    .old_end_point = point(position_of(data_->outline, edit.old_end_byte)),
                    .new_end_point = point(position_of(data->outline, edit.new_end_byte))};
  data->inherit(*data_, input);
  return Tree(std::move(data));
}

const std::string& Tree::text() const {
  return data_->text;
}

bool Tree::has_errors() const {
  SyntaxTree tree = data_->syntax();
  return ts_node_has_error(ts_tree_root_node(tree.get()));
}

}  // namespace hotlens::source
