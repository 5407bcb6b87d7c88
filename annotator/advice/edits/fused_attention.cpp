// `F.scaled_dot_product_attention(…)` where a class, or a function of none, writes an attention out.
#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/imports.h"
#include "annotator/advice/edits/layers.h"
#include "annotator/advice/edits/written_attention.h"

namespace hotlens::advice {
namespace {

// The class whose code a node is; else the function; else the text.
TSNode code_around(const PythonText& text, TSNode node) {
  const TSNode owner = around(node, "class_definition"), function = around(node, "function_definition");
  return !ts_node_is_null(owner) ? owner : !ts_node_is_null(function) ? function : text.root();
}

std::size_t softmaxes_in(const PythonText& text, TSNode code) {
  std::size_t count = 0;
  each_node(code, [&](TSNode node) { count += is_softmax(text, node) ? 1 : 0; });
  return count;
}

std::string call_of(const PythonText& text, const WrittenAttention& found) {
  std::string functions = name_at(text, "torch.nn.functional", span(found.product));
  if (functions.empty()) functions = "torch.nn.functional";
  std::string arguments = fmt::format("{}, {}, {}", found.query, found.key, found.value);
  if (found.mask) arguments += ", attn_mask=" + *found.mask;
  if (found.dropout) arguments += ", dropout_p=" + *found.dropout;
  if (found.scale) arguments += ", scale=" + *found.scale;
  return fmt::format("{}.scaled_dot_product_attention({})", functions, arguments);
}

// The whole lines of a statement; nullopt where another one stands there.
std::optional<Span> lines_of(const Script& script, std::size_t file, TSNode statement) {
  const std::string& text = script.texts()[file].text();
  const std::string indentation = script.indentation(file, span(statement).begin);
  const std::size_t end = std::min(text.find('\n', span(statement).end), text.size());
  const std::string_view rest = std::string_view(text).substr(span(statement).end, end - span(statement).end);
  const std::size_t more = rest.find_first_not_of(" \t\r");
  const bool alone = indentation.find_first_not_of(" \t") == std::string::npos && (more == std::string_view::npos || rest[more] == '#');
  if (!alone) return std::nullopt;
  return Span{span(statement).begin - static_cast<std::uint32_t>(indentation.size()),
              static_cast<std::uint32_t>(std::min(end + 1, text.size()))};
}

// Adds the edit of one attention. The error: why there is none.
std::optional<std::string> replace(const Script& script, std::size_t file, const WrittenAttention& found, ByPlace& edits) {
  for (const TSNode statement : found.statements) {
    const auto lines = lines_of(script, file, statement);
    if (!lines) return "another statement stands on a line of it";
    edits[file].emplace(lines->begin, Replacement{*lines, ""});
  }
  const Span product = span(found.product);
  edits[file].emplace(product.begin, Replacement{product, call_of(script.texts()[file], found)});
  return std::nullopt;
}

// Edits of one class's code, or with an empty name of functions of none; nothing is added where there is no attention.
std::optional<NoEdit> edit_code_of(const Script& script, const std::string& name, ByPlace& edits) {
  const auto drops = [](const profile::ModelModule& one) { return one.class_name == "Dropout"; };
  const std::set<std::string> dropouts = names_of_layers(script, name, drops);
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    const PythonText& text = script.texts()[file];
    std::vector<TSNode> products;
    each_node(text.root(), [&](TSNode node) {
      if (!is_product(text, node)) return;
      const TSNode owner = around(node, "class_definition");
      if (ts_node_is_null(owner) ? name.empty() : text.at(field(owner, "name")) == name) products.push_back(node);
    });
    for (const TSNode product : products) {
      const auto found = written_attention(text, product, dropouts, softmaxes_in(text, code_around(text, product)) == 1);
      if (!found) continue;
      const auto why = *found ? replace(script, file, **found, edits) : std::optional(found->error());
      if (why) return NoEdit{fmt::format("the attention at {}: {}", script.place(file, span(product).begin), *why), {}};
    }
  }
  return std::nullopt;
}

std::size_t places(const ByPlace& edits) {
  std::size_t count = 0;
  for (const auto& [file, all] : edits) count += all.size();
  return count;
}

}  // namespace

Made fused_attention(const Script& script, std::span<const std::string> paths) {
  ByPlace edits;
  std::string elsewhere;  // a class that writes none itself: functions that it calls may
  for (const std::string& name : script.classes_of(paths)) {
    const std::size_t before = places(edits);
    if (auto why = edit_code_of(script, name, edits)) return std::unexpected(std::move(*why));
    if (places(edits) == before) elsewhere = name;
  }
  if (!elsewhere.empty() || edits.empty()) {
    const std::size_t before = places(edits);
    if (auto why = edit_code_of(script, "", edits)) return std::unexpected(std::move(*why));
    if (edits.empty()) return no("no product, softmax and product of the files that ran follow each other in one block");
    if (places(edits) == before) return no(fmt::format("`{}` writes no attention out in one block", elsewhere));
  }
  return listed(std::move(edits), {"torch"});
}

}  // namespace hotlens::advice
