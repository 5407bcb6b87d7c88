// `model.to(memory_format=torch.channels_last)`, and the same for the images that come in.
#include <algorithm>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kImage = 4;  // dimensions: batch, channels, height, width

bool is_constant(const std::vector<Whole>& numbers) {
  return std::ranges::all_of(numbers, [](const Whole& number) { return number.is_fixed() && number.denominator == 1; });
}

std::vector<Whole> strides(const std::vector<Whole>& shape, std::array<std::size_t, kImage> outer_to_inner) {
  std::vector<Whole> found(kImage);
  std::int64_t step = 1;
  for (const std::size_t at : {outer_to_inner[3], outer_to_inner[2], outer_to_inner[1], outer_to_inner[0]}) {
    found[at] = {.offset = step};
    step *= std::max<std::int64_t>(shape[at].offset, 1);
  }
  return found;
}

// What `to` would rearrange: four dimensions, row by row, alone in its memory.
bool can_be_rearranged(const Tensor& tensor) {
  const bool four = tensor.shape.size() == kImage && is_real(tensor.dtype) && is_constant(tensor.shape);
  return four && tensor.offset == Whole{} && tensor.stride == strides(tensor.shape, {0, 1, 2, 3});
}

bool is_rearranged(const Tensor& tensor) {
  const bool four = tensor.shape.size() == kImage && is_real(tensor.dtype) && is_constant(tensor.shape);
  return four && tensor.stride != strides(tensor.shape, {0, 1, 2, 3}) && tensor.stride == strides(tensor.shape, {0, 2, 3, 1});
}

bool is_convolution(const Operator& op) {
  return op.name.contains("conv") && op.stage == Stage::forward;
}

bool has_weight(const Program& program, const Operator& convolution) {
  const TensorId weight = tensor_of(argument(convolution, 1, "weight"));
  const bool listed = weight >= 0 && static_cast<std::size_t>(weight) < program.tensors.size();
  return listed && program.tensors[static_cast<std::size_t>(weight)].shape.size() == kImage;
}

// Where the tensor comes to be: after the operator that brings it, or at the start.
std::size_t arrival(const Program& program, TensorId id) {
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    bool brings = false;
    const Operator& op = program.operators[at];
    if (op.kind == OperatorKind::input) for_each_tensor(op, [&](TensorId one) { brings = brings || one == id; });
    if (brings) return at + 1;
  }
  return 0;
}

bool used_in_forward(const Program& program, TensorId id) {
  return std::ranges::any_of(program.operators, [&](const Operator& op) {
    bool uses = false;
    if (computes(op) && op.stage == Stage::forward) for_each_tensor(op, [&](TensorId one) { uses = uses || one == id; });
    return uses;
  });
}

// The script's variable is bound to the copy, so the original goes.
void convert_input(Program& program, TensorId id) {
  const std::size_t at = arrival(program, id);
  const auto copy = static_cast<TensorId>(program.ids++);
  for (std::size_t later = at; later < program.operators.size(); ++later) replace_tensor(program.operators[later], id, copy);
  const Operator convert{.name = "aten::contiguous",
                         .overload = {},
                         .args = {{TensorRef{id}}},
                         .kwargs = {{"memory_format", {NamedValue{Named::memory_format, "channels_last"}}}},
                         .out = {copy}};
  const Operator release{
      .kind = OperatorKind::free, .name = "hotlens::free", .overload = {}, .args = {{TensorRef{id}}}, .kwargs = {}, .out = {}};
  program.operators.insert(program.operators.begin() + static_cast<std::ptrdiff_t>(at), {convert, release});
}

}  // namespace

Edited channels_last(Program program) {
  const auto convolution = std::ranges::find_if(program.operators, is_convolution);
  const bool any =
      std::ranges::any_of(program.operators, [&](const Operator& op) { return is_convolution(op) && has_weight(program, op); });
  if (convolution == program.operators.end() || !any)
    return std::unexpected(NotHere{.reason = "no layer is a two-dimensional convolution"});
  for (const Operator& op : program.operators) {
    bool by_strides = false;
    for_each_inside(op, [&](const Operator& one) {
      const Value* size = one.name == "aten::as_strided" ? argument(one, 1, "size") : nullptr;
      const auto* list = size == nullptr ? nullptr : std::get_if<Values>(&size->is);
      by_strides = by_strides || (list != nullptr && list->size() == kImage);
    });
    if (by_strides) {
      return std::unexpected(not_here_at(program, op, "a view is recorded by its strides, which would be others"));
    }
  }
  std::size_t weights = 0, images = 0;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    Tensor& tensor = program.tensors[id];
    const bool shared = std::ranges::count(program.tensors, tensor.storage, &Tensor::storage) > 1;
    if (tensor.kind == TensorKind::parameter && is_rearranged(tensor)) {
      return std::unexpected(NotHere{.reason = "weights are in channels_last already"});
    }
    if (shared || !can_be_rearranged(tensor)) continue;
    const bool of_model = tensor.kind == TensorKind::parameter || tensor.kind == TensorKind::state || tensor.kind == TensorKind::gradient;
    if (of_model) tensor.stride = strides(tensor.shape, {0, 2, 3, 1});
    weights += tensor.kind == TensorKind::parameter ? 1 : 0;
    if (tensor.kind != TensorKind::input || !used_in_forward(program, static_cast<TensorId>(id))) continue;
    convert_input(program, static_cast<TensorId>(id));
    ++images;
  }
  if (weights == 0) return std::unexpected(NotHere{.reason = "no weight of a convolution can be rearranged"});
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(weights, "weight and ", "weights and ") + counted(images, "input", "inputs") + " have four dimensions",
              .modules = {}};
}

}  // namespace hotlens::lab
