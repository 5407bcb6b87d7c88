#include <algorithm>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/structure/new_layers.h"
#include "annotator/lab/structure/simple_layers.h"
#include "annotator/lab/structure/values.h"

namespace hotlens::layers {
namespace {

std::expected<std::vector<Held>, std::string> with_shapes(const Value& layer, std::vector<Held> all) {
  for (Held& one : all) {
    const auto shape = shape_of(layer, one.name);
    if (!shape || std::ranges::any_of(*shape, [](std::int64_t size) { return size <= 0; }))
      return std::unexpected("the shape of its `" + one.name + "` cannot be known");
    one.shape = *shape;
  }
  return all;
}

std::vector<Held> of_recurrent(const Value& layer, bool bias, bool both) {
  std::vector<Held> all;
  for (std::int64_t at = 0; at < whole_of(argument(layer, "num_layers")).value_or(1); ++at) {
    for (const char* direction : {"", "_reverse"}) {
      if (*direction != '\0' && !both) continue;
      const std::string end = "_l" + std::to_string(at) + direction;
      for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
        if (bias || name[0] == 'w') all.push_back({.name = name + end, .shape = {}});
      }
    }
  }
  return all;
}

}  // namespace

std::expected<std::vector<Held>, std::string> held_by(const Value& layer) {
  const std::string& name = layer.layer;
  if (name == "Identity") return std::vector<Held>();
  const bool plain = simple(name) != nullptr;
  const auto known = constructor_parameters(name);
  const bool holds_others = std::ranges::any_of(layer.attributes, [](const auto& one) { return is_module(one.second); });
  if ((!plain && known.empty()) || holds_others) return std::unexpected("what a new " + name + " holds is not known");
  for (const auto& [given, value] : layer.given.named) {
    if (std::ranges::find(known, given) == known.end()) return std::unexpected("what `" + given + "` changes in " + name + " is not known");
  }
  const auto bias = is_on(layer, "bias"), affine = is_on(layer, name == "LayerNorm" || name == "RMSNorm" ? "elementwise_affine" : "affine");
  const auto tracks = is_on(layer, "track_running_stats"), both = is_on(layer, "bidirectional", false);
  if (!bias || !affine || !tracks || !both) return std::unexpected("an argument of " + name + " cannot be known");
  std::vector<Held> all;
  const auto add = [&](const char* one) { all.push_back({.name = one, .shape = {}}); };
  if (is_recurrent(name)) return with_shapes(layer, of_recurrent(layer, *bias, *both));
  if (name.ends_with("Cell")) {
    for (const char* one : {"weight_ih", "weight_hh"}) add(one);
    for (const char* one : {"bias_ih", "bias_hh"}) {
      if (*bias) add(one);
    }
  }
  if (name == "Linear" || name == "Bilinear" || name.starts_with("Conv")) {
    add("weight");
    if (*bias) add("bias");
  }
  if (name == "PReLU") add("weight");
  if (name.ends_with("Norm") || name.starts_with("BatchNorm")) {
    if (*affine) add("weight");
    if (*affine && name != "RMSNorm" && *bias) add("bias");
  }
  if (name.starts_with("BatchNorm") && *tracks) {
    for (const char* one : {"running_mean", "running_var"}) all.push_back({.name = one, .shape = {}, .parameter = false});
    all.push_back({.name = "num_batches_tracked", .shape = {}, .parameter = false, .whole = true});
  }
  return with_shapes(layer, std::move(all));
}

}  // namespace hotlens::layers
