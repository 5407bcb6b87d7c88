#include "annotator/source/moved_classes.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "annotator/source/match/matching.h"
#include "annotator/source/match/similarity.h"
#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {
namespace {

using Classes = std::map<std::string_view, Index>;

std::string_view name_of(const Tree::Data& data, const Statement& statement) {
  return std::string_view(data.text).substr(statement.name_begin, statement.name_end - statement.name_begin);
}

// By name; of several the last, which is the one that Python keeps.
Classes classes_of(const Tree::Data& data) {
  Classes found;
  for (const Index index : children(data.outline.statements, kNoStatement)) {
    const Statement& statement = data.outline.statements[index];
    if (statement.kind == StatementKind::type) found.insert_or_assign(name_of(data, statement), index);
  }
  return found;
}

LineSpan lines_of(const Outline& outline, Index index) {
  const Statement& header = outline.statements[index];
  LineSpan span{position_of(outline, header.begin).line, header.end_line};
  for (Index inner = index + 1; inner < header.below; ++inner) span.last = std::max(span.last, outline.statements[inner].end_line);
  return span;
}

}  // namespace

std::vector<LineSpan> moved_classes(const Tree& executed, const Tree* left, const Tree& now) {
  const Classes had = classes_of(executed.data()), has = classes_of(now.data());
  const Classes kept = left == nullptr ? Classes{} : classes_of(left->data());
  std::vector<LineSpan> moved;
  for (const auto& [name, index] : had) {
    const auto here = has.find(name);
    if (here == has.end() || kept.contains(name)) continue;
    const auto before = inner_hashes(executed.data().outline.statements, index);
    const auto after = inner_hashes(now.data().outline.statements, here->second);
    if (dice(before, after) > kSameBody) moved.push_back(lines_of(executed.data().outline, index));
  }
  return moved;
}

std::vector<std::string> class_names(const Tree& tree) {
  std::vector<std::string> names;
  for (const Index index : children(tree.data().outline.statements, kNoStatement)) {
    const Statement& statement = tree.data().outline.statements[index];
    if (statement.kind == StatementKind::type) names.emplace_back(name_of(tree.data(), statement));
  }
  return names;
}

}  // namespace hotlens::source
