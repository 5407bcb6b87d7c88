#include "annotator/advice/edits/losses.h"

#include <algorithm>
#include <array>

#include "annotator/advice/edits/loaders.h"

namespace hotlens::advice {
namespace {

// Of torch.nn.functional and torch.nn: the mean over the samples, each of which counts alike.
constexpr auto kMeans =
    std::to_array<std::string_view>({"cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
                                     "binary_cross_entropy", "binary_cross_entropy_with_logits", "CrossEntropyLoss", "NLLLoss", "MSELoss",
                                     "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss"});
constexpr auto kAlike = std::to_array<std::string_view>({"input", "target", "label_smoothing", "beta", "delta"});  // options
constexpr std::size_t kOutputAndTarget = 2;

template <class List>
bool is_named(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool is_mean(const Call& call, std::size_t positional) {
  const bool known = call.what.starts_with("torch.nn.") && is_named(kMeans, std::string_view(call.what).substr(call.what.rfind('.') + 1));
  const auto by_position = static_cast<std::size_t>(std::ranges::count(call.given, std::string(), &Argument::name));
  const auto alike = [](const Argument& one) { return one.name.empty() || is_named(kAlike, one.name); };
  return known && !call.spreads() && by_position <= positional && std::ranges::all_of(call.given, alike);
}

// `criterion` of `criterion = nn.CrossEntropyLoss()`, the only thing that is called so.
bool is_mean_layer(const PythonText& text, std::string_view name) {
  std::ptrdiff_t assigned = 0;
  each_node(text.root(), [&](TSNode node) { assigned += type(node) == "assignment" && text.at(field(node, "left")) == name ? 1 : 0; });
  return assigned == 1 &&
         std::ranges::any_of(text.calls(), [&](const Call& call) { return is_mean(call, 0) && target_of(text, call) == name; });
}

}  // namespace

bool is_mean_loss(const PythonText& text, const Call& call) {
  return is_mean(call, kOutputAndTarget) || is_mean_layer(text, text.at(call.callee));
}

}  // namespace hotlens::advice
