#include <algorithm>
#include <array>

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {
namespace {

using attribution::Kind;
using attribution::kNoNode;
using kernels::Family;

// Only hand on to what computes.
constexpr auto kHandOn = std::to_array<std::string_view>({"aten::matmul", "aten::softmax", "aten::einsum", "aten::dropout", "aten::to"});

enum class Part : std::uint8_t { product, softmax, between, none };

// Of operators named so. Attention scales, masks and drops between its products, and nothing else.
Part part_of(std::string_view name) {
  if (name == "aten::bmm" || name == "aten::baddbmm") return Part::product;
  if (name == "aten::_softmax") return Part::softmax;
  if (name.contains("backward") || name.contains("Backward")) return Part::none;
  if (std::ranges::find(kHandOn, name) != kHandOn.end()) return Part::between;
  switch (kernels::operator_name(name).family) {
    case Family::elementwise:
    case Family::view:
    case Family::copy:
    case Family::fill:
    case Family::random:
      return Part::between;
    default:
      return Part::none;
  }
}

// Dropout that drops something: a probability of 0 draws no numbers.
bool draws(std::string_view name) {
  return name == "aten::native_dropout" || name.starts_with("aten::bernoulli");
}

struct Attention {
  std::uint32_t first, softmax, last;  // nodes: product, softmax, product
  bool drops = false;                  // dropout of the scores
};

std::vector<Attention> attentions(const Recording& recording) {
  const attribution::Forest& forest = recording.forest;
  std::vector<std::optional<Part>> parts(recording.trace.names.size());
  std::vector<Attention> found;
  for (const attribution::Forest::Thread& thread : forest.threads) {
    std::uint32_t product = kNoNode, softmax = kNoNode;
    bool drops = false;
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      if (forest.kind[node] != Kind::op) continue;
      std::optional<Part>& part = parts[recording.trace.events.name[forest.event[node]].index];
      if (!part) part = part_of(recording.name(node));
      drops = drops || draws(recording.name(node));
      if (*part == Part::product) {
        if (softmax != kNoNode) found.push_back({product, softmax, node, drops});
        product = node;
        softmax = kNoNode;
        drops = false;
      } else if (*part == Part::softmax && product != kNoNode) {
        softmax = node;
      } else if (*part == Part::none) {
        product = softmax = kNoNode;
      }
    }
  }
  return found;
}

// "32×12×128×128"; empty where shapes were not recorded.
std::string scores(const Recording& recording, std::uint32_t softmax) {
  const auto row = trace::row_of(recording.trace.inputs.event, recording.forest.event[softmax]);
  if (!row || !recording.trace.inputs.shapes[*row].valid()) return {};
  const std::string_view dims = recording.trace.inputs_text[recording.trace.inputs.shapes[*row]];
  std::string shape;
  for (const char c : dims.substr(0, dims.find(']'))) {
    if (c == ',') shape += "×";
    if (c >= '0' && c <= '9') shape += c;
  }
  return shape.empty() ? shape : ", scores of " + shape + " are kept";
}

}  // namespace

// Certain: product, softmax, product with nothing but scaling, masks and dropout between them. Whether the fused kernel takes the mask, and
// is faster for these sizes, only a run tells. On a CPU torch computes attention with dropout operator by operator anyway.
std::optional<Found> fused_attention(const Recording& recording) {
  if (!knows(recording, "aten::_softmax")) return std::nullopt;
  const attribution::Forest& forest = recording.forest;
  const std::vector<Attention> all = attentions(recording);
  Marks inner(forest.size());
  std::int64_t in_step = 0;
  std::uint32_t one = kNoNode;
  for (const Attention& attention : all) {
    if (attention.drops && recording.account.work.empty()) continue;
    const std::uint32_t from = after_descendants(forest, attention.first, attention.last);
    for (std::uint32_t node = from; node < attention.last; ++node) {
      inner[node] = forest.kind[node] == Kind::op && forest.end[node] <= forest.start[attention.last];
    }
    if (!recording.in_step(attention.softmax)) continue;
    if (one == kNoNode) one = attention.softmax;
    ++in_step;
  }
  if (in_step == 0) return std::nullopt;
  const Marks gone = with_backward(recording, marked(recording, [&](std::uint32_t node) { return inner[node]; }));
  const Ns time = shown(recording, sum(recording, gone));
  return Found{.evidence = {{counted(in_step, "attention", "attentions") + " as product, softmax, product" + scores(recording, one) +
                                 "; between the products",
                             time, ""}},
               .assumes = {"F.scaled_dot_product_attention takes this mask and dropout; nothing else reads the scores"},
               .node = one,
               .change = without(gone)};
}

}  // namespace hotlens::rules
