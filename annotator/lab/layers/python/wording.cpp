#include "annotator/lab/layers/python/wording.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace hotlens::layers {
namespace {

std::string_view last_of(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

// Where a class's own assignments say by their annotation that they are fields.
bool is_field(Node assignment) {
  const Node body = assignment.parent().parent();
  return body.is("block") && body.parent().is("class_definition");
}

// Annotations of parameters, results and variables.
bool is_annotation(Node node) {
  if (!node.is("type")) return false;
  const Node above = node.parent();
  return above.is("typed_parameter") || above.is("typed_default_parameter") || above.is("function_definition") ||
         (above.is("assignment") && !is_field(above));
}

bool has_only_constants(Node node) {
  if (node.is("identifier") || node.is("call")) return false;
  return std::ranges::all_of(node.children(), has_only_constants);
}

Node only_child(Node statement, std::string_view kind) {
  const auto parts = statement.is("expression_statement") ? statement.children() : std::vector<Node>();
  return parts.size() == 1 && parts[0].is(kind) ? parts[0] : Node{};
}

bool is_note(Node statement) {
  const Node call = only_child(statement, "call");
  return call && is_told(call.field("function").text());
}

void add(Node node, std::string& to) {
  if (is_silent(node)) return;
  const std::uint32_t count = ts_node_child_count(node.node);
  if (count == 0 || node.is("string_content")) {
    to += node.text();
    to += '\x1f';
    return;
  }
  if (node.is("block")) to += '{';
  for (std::uint32_t at = 0; at < count; ++at) {
    const Node child{node.code, ts_node_child(node.node, at)};
    const Node next = at + 1 < count ? Node{node.code, ts_node_child(node.node, at + 1)} : Node{};
    if (child.is("comment") || child.is("line_continuation") || is_annotation(child) || (next && is_annotation(next))) continue;
    add(child, to);
  }
  if (node.is("block")) to += '}';
}

}  // namespace

bool is_rate_of_update(std::string_view callee, std::string_view keyword) {
  constexpr std::array<std::string_view, 7> kRates{"lr", "eps", "betas", "weight_decay", "momentum", "alpha", "rho"};
  if (callee.find("lr_scheduler") != std::string_view::npos) return true;
  return keyword == "lr" || (callee.find("optim") != std::string_view::npos && is_among(kRates, keyword));
}

bool is_silent(Node statement) {
  if (statement.is("pass_statement") || only_child(statement, "string") || only_child(statement, "concatenated_string")) return true;
  if (const Node declared = only_child(statement, "assignment"); declared && !declared.field("right") && !is_field(declared)) return true;
  return is_note(statement) && only_child(statement, "call").field("function").text() == "print" &&
         has_only_constants(only_child(statement, "call").field("arguments"));
}

std::string wording(Node node) {
  std::string all;
  if (node) add(node, all);
  return all;
}

bool same_wording(Node one, Node other) {
  return one.text() == other.text() || wording(one) == wording(other);
}

double literal_number(Node literal) {
  std::string digits(literal.text());
  std::erase(digits, '_');
  return std::strtod(digits.c_str(), nullptr);
}

const source::Binding* only_binding(const source::Code& code, std::string_view name) {
  const auto found = code.names().find(std::string(name));
  return found == code.names().end() || found->second.size() != 1 ? nullptr : found->second.data();
}

std::optional<double> number_of(Node value) {
  for (int depth = 0; depth < 4; ++depth) {
    if (value.is("integer") || value.is("float")) return literal_number(value);
    if (value.is("true")) return 1;
    if (value.is("false") || value.is("none")) return 0;
    if (!value.is("identifier")) return std::nullopt;
    const source::Binding* binding = only_binding(*value.code, value.text());
    value = binding != nullptr && binding->kind == source::Binding::Kind::value ? binding->node : Node{};
  }
  return std::nullopt;
}

std::string marks(Node node) {
  std::string all;
  for (std::uint32_t at = 0; at < ts_node_child_count(node.node); ++at) {
    const Node child{node.code, ts_node_child(node.node, at)};
    if (!child.is("comment")) all += ts_node_is_named(child.node) ? std::string_view("_") : child.text();
  }
  return all;
}

void asked_names(Node node, std::set<std::string>& to) {
  if (node.is("identifier")) to.emplace(node.text());
  if (node.is("attribute")) {
    const Node object = node.field("object"), first = object.is("attribute") ? object.field("object") : object;
    if (first.is("identifier")) {
      to.emplace(node.text());
      return;
    }
  }
  const std::string_view callee = node.is("call") ? node.field("function").text() : std::string_view();
  if (callee == "getattr" || callee == "hasattr") {
    const auto given = node.field("arguments").children();
    const bool known =
        given.size() >= 2 && (given[0].is("identifier") || (given[0].is("attribute") && given[0].field("object").is("identifier")));
    if (known && given[1].is("string") && given[1].text().size() > 2) {
      const std::string asked = std::string(given[0].text()) + "." + std::string(given[1].text().substr(1, given[1].text().size() - 2));
      to.insert(callee == "hasattr" ? "?" + asked : asked);
      for (std::size_t at = 2; at < given.size(); ++at) asked_names(given[at], to);
      return;
    }
  }
  for (const Node& child : node.children()) asked_names(child, to);
}

bool is_told(std::string_view callee) {
  constexpr std::array<std::string_view, 3> kAlone{"print", "random.seed", "np.random.seed"};
  constexpr std::array<std::string_view, 11> kLast{"manual_seed", "manual_seed_all", "getLogger", "basicConfig",    "info",        "debug",
                                                   "warning",     "setLevel",        "warn",      "filterwarnings", "simplefilter"};
  return is_among(kAlone, callee) || (callee.find('.') != std::string_view::npos && is_among(kLast, last_of(callee)));
}

bool is_remark(Node statement) {
  if (is_silent(statement)) return true;
  if (!is_note(statement)) return false;
  constexpr std::array<std::string_view, 14> kCheap{"sum",  "len",   "str",  "repr",       "int", "float",  "round",
                                                    "type", "numel", "size", "parameters", "dim", "format", "named_parameters"};
  bool cheap = true;
  source::walk(only_child(statement, "call").field("arguments"), [&](Node node) {
    if (node.is("call")) cheap = cheap && is_among(kCheap, last_of(node.field("function").text()));
    return cheap;
  });
  return cheap;
}

}  // namespace hotlens::layers
