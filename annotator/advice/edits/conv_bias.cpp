// `bias=False` in the calls that make layers. Where the script reads biases or loads saved ones, it stays.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/layers.h"

namespace hotlens::advice {
namespace {

constexpr auto kLayers =
    std::to_array<std::string_view>({"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Linear"});

LayerEdit without_bias(const PythonText& text, const Call& call) {
  const std::size_t place = call.what.ends_with(".Linear") ? 2 : 7;  // of the argument
  const Argument* given = call.named("bias");
  if (given == nullptr && place < call.given.size() && call.given[place].name.empty()) given = &call.given[place];
  if (given == nullptr) return Offered{appended(call, "bias=False")};
  if (given->kind == "true") return Offered{Replacement{given->value, "False"}};
  return std::unexpected(fmt::format("its bias is an expression: `{}`", text.at(given->value)));
}

// Whether a condition leaves no such layer: `m.bias is not None`, `isinstance(m, nn.BatchNorm2d)`.
bool leaves_out(std::string_view condition, std::string_view object) {
  if (condition.contains(fmt::format("{}.bias is not None", object))) return true;
  const bool asks_type = condition.starts_with(fmt::format("isinstance({},", object));
  return asks_type && !condition.contains("_Conv") && !condition.contains("Module") &&
         std::ranges::none_of(kLayers, [&](std::string_view layer) { return condition.contains(layer); });
}

// Whether the bias is read under such a condition, or only compared with None.
bool is_guarded(const PythonText& text, TSNode read, std::string_view object) {
  if (type(ts_node_parent(read)) == "comparison_operator") return text.at(ts_node_parent(read)).ends_with(" None");
  for (TSNode node = read, above = ts_node_parent(node); !ts_node_is_null(above); node = above, above = ts_node_parent(node)) {
    const std::string_view kind = type(above);
    const bool branch = kind == "if_statement" || kind == "elif_clause";
    if (branch && ts_node_eq(field(above, "consequence"), node) && leaves_out(text.at(field(above, "condition")), object)) return true;
    const bool both = kind == "boolean_operator" && text.at(field(above, "operator")) == "and";
    if (both && ts_node_eq(field(above, "right"), node) && leaves_out(text.at(field(above, "left")), object)) return true;
  }
  return false;
}

// `m.bias` of something that may be one of the layers: not of `self`, nor of an attribute of another name.
bool may_read_bias(const PythonText& text, TSNode node, std::span<const std::string> paths) {
  if (type(node) != "attribute" || text.at(field(node, "attribute")) != "bias") return false;
  const TSNode object = field(node, "object");
  if (text.at(object) == "self") return false;
  if (type(object) == "attribute") {
    const std::string_view name = text.at(field(object, "attribute"));
    const auto is_its_name = [&](std::string_view path) { return path.substr(path.rfind('.') + 1) == name; };
    if (std::ranges::none_of(paths, is_its_name)) return false;
  }
  return !is_guarded(text, node, text.at(object));
}

std::string bias_read_at(const Script& script, std::span<const std::string> paths) {
  std::string place;
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    const PythonText& text = script.texts()[file];
    each_node(text.root(), [&](TSNode node) {
      if (place.empty() && may_read_bias(text, node, paths)) place = script.place(file, span(node).begin);
    });
  }
  return place;
}

// Calls that read weights from a file, where a model takes some.
std::vector<Found> loads(const Script& script) {
  const auto takes = [](const PythonText& text, const Call& call) {
    return text.at(call.callee).ends_with(".load_state_dict") || call.what == "safetensors.torch.load_model";
  };
  if (script.calls(takes).empty()) return {};
  constexpr auto kLoads = std::to_array<std::string_view>(
      {"torch.load", "torch.hub.load_state_dict_from_url", "safetensors.torch.load_file", "safetensors.torch.load_model"});
  return script.calls(
      [&](const PythonText&, const Call& call) { return std::ranges::find(kLoads, std::string_view(call.what)) != kLoads.end(); });
}

}  // namespace

Made no_conv_bias(const Script& script, std::span<const std::string> paths) {
  const std::vector<Found> loaded = loads(script);
  if (!loaded.empty()) return no("saved weights are loaded, which may have these biases, at " + script.places(loaded));
  const std::string read = bias_read_at(script, paths);
  if (!read.empty()) return no("the bias of a layer is read, maybe of one of these, at " + read);
  return edit_layers(script, paths, kLayers, without_bias, Others::stay);
}

}  // namespace hotlens::advice
