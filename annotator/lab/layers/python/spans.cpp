#include "annotator/lab/layers/python/spans.h"

#include <algorithm>
#include <ranges>

namespace hotlens::layers {

Span span_of(Node node) {
  return {ts_node_start_byte(node.node), ts_node_end_byte(node.node)};
}

std::string line_ends(std::string_view text) {
  return std::string(static_cast<std::size_t>(std::ranges::count(text, '\n')), '\n');
}

std::string passed(Node statement) {
  return "pass" + line_ends(statement.text());
}

std::shared_ptr<const source::Code> replaced(const source::Code& code, const std::map<Span, std::string>& spans) {
  std::string text = code.text();
  for (const auto& [span, now] : spans | std::views::reverse) text.replace(span.first, span.second - span.first, now);
  return std::make_shared<source::Code>(code.path(), std::move(text));
}

void replace_in(std::map<std::filesystem::path, std::shared_ptr<const source::Code>>& files, const Pieces& pieces) {
  for (auto& [path, code] : files) {
    if (const auto found = pieces.find(code.get()); found != pieces.end()) code = replaced(*code, found->second);
  }
}

}  // namespace hotlens::layers
