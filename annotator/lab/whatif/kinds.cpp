#include "annotator/lab/whatif/kinds.h"

#include <algorithm>
#include <array>

namespace hotlens::lab {
namespace {

// `error`: about the 90 % quantile that prototypes on eight models had for the kind; tests/bench/whatif.py measures it.
constexpr std::array<Kind, 18> kKinds{{
    {.name = "foreach_optimizer",
     .title = "Optimizer with foreach=True",
     .assumes = "what Python takes between operators shrinks as the operators do",
     .where = Where::optimizer,
     .error = 0.06,
     .edit = foreach_optimizer,
     .losses = 0.01},
    {.name = "fused_optimizer",
     .title = "Optimizer with fused=True",
     .assumes = "what Python takes between operators shrinks as the operators do; gradients are not clipped or scaled inside the step",
     .where = Where::optimizer,
     .error = 0.06,
     .edit = fused_optimizer,
     .losses = 0.01},
    {.name = "channels_last",
     .title = "Model and images in channels_last",
     .assumes = "images are converted in the loop, x = x.to(memory_format=torch.channels_last), and the model before its optimizer is made",
     .where = Where::model,
     .error = 0.04,
     .edit = channels_last,
     .losses = 0.01},
    {.name = "autocast_bf16",
     .title = "Forward and loss under autocast to bfloat16",
     .assumes = "backward and the update are outside of autocast; results differ within the precision of bfloat16",
     .where = Where::model,
     .error = 0.1,
     .edit = autocast_bf16,
     .losses = 0.1},
    {.name = "no_dropout",
     .title = "Dropout off (p=0)",
     .assumes = "the model trains without this regularisation, so its accuracy may change",
     .where = Where::modules,
     .error = 0.04,
     .edit = no_dropout},
    {.name = "gelu_to_relu",
     .title = "ReLU in place of GELU",
     .assumes = "the model becomes another one, so its accuracy may change",
     .where = Where::modules,
     .error = 0.06,
     .edit = gelu_to_relu},
    {.name = "batch_norm_eval",
     .title = "Batch norms in evaluation mode",
     .assumes = "running statistics are used as they are; weights of the norms still train",
     .where = Where::modules,
     .error = 0.04,
     .edit = batch_norm_eval},
    {.name = "no_conv_bias",
     .title = "No bias before a batch norm (bias=False)",
     .assumes =
         "batch norms in training take the bias off again; weights that were saved before have biases that the model has no more, and "
         "first weights of a seed are others",
     .where = Where::modules,
     .error = 0.04,
     .edit = no_conv_bias},
    {.name = "zero_grad_none",
     .title = "zero_grad(set_to_none=True)",
     .assumes = "nothing reads a gradient between zero_grad() and backward()",
     .where = Where::zero_grad,
     .error = 0.04,
     .edit = zero_grad_none,
     .losses = 0.001},
    {.name = "checkpoint",
     .title = "Blocks run again in the backward pass (torch.utils.checkpoint)",
     .assumes = "checkpoint(block, x, use_reentrant=False) around each call of a block, or the framework's own switch where it has one",
     .where = Where::modules,
     .error = 0.08,
     .edit = checkpoint_blocks,
     .losses = 0.001},
    {.name = "fused_attention",
     .title = "F.scaled_dot_product_attention for product, softmax, product",
     .assumes =
         "masks are passed as they are and no row is masked as a whole; a causal mask as is_causal=True takes less than is said here",
     .where = Where::modules,
     .error = 0.06,
     .edit = fused_attention},
    {.name = "unbind_time",
     .title = "Take time steps apart once (x.unbind) before the loop",
     .assumes = "the loop only reads its steps, and takes them from the list",
     .where = Where::modules,
     .error = 0.06,
     .edit = unbind_time,
     .losses = 0.001},
    {.name = "gelu_tanh",
     .title = "F.gelu(x, approximate=\"tanh\") for its formula",
     .assumes = "the constants of the formula are those of GELU, but for rounding",
     .where = Where::modules,
     .error = 0.06,
     .edit = gelu_tanh,
     .losses = 0.001},
    {.name = "accumulate",
     .title = "The same update from two halves of the batch (gradient accumulation)",
     .assumes = "both halves add up their gradients, each with half of its mean loss, before one update: as many samples an update as now; "
                "batch norms see a half at a time",
     .where = Where::model,
     .error = 0.06,
     .edit = accumulate,
     .losses = 0.01,
     .of_sizes = true},
    {.name = "scan_time",
     .title = "States of a time loop in chunks",
     .assumes = "states are equal but for rounding; they take three times the memory, and of few steps or large ones as long as the loop",
     .where = Where::model,
     .losses = 0.001},
    {.name = "cudnn_benchmark",
     .title = "cuDNN tries its convolutions and keeps the fastest (cudnn.benchmark)",
     .assumes = "shapes stay the same from step to step: each new one is tried again; sums may be added up in another order",
     .where = Where::model,
     .losses = 0.01},
    {.name = "tf32",
     .title = "TF32 in 32-bit products (torch.set_float32_matmul_precision(\"high\"))",
     .assumes = "the device has TF32, as of compute capability 8; such products have 10 bits of precision instead of 23",
     .where = Where::model,
     .losses = 0.01},
    {.name = "compile",
     .title = "Model compiled (model.compile())",
     .assumes = "compiling takes from seconds to minutes, again for each new shape; later runs find it in torch's cache",
     .where = Where::model,
     .losses = 0.01},
}};

}  // namespace

std::span<const Kind> kinds() {
  return kKinds;
}

const Kind* kind_named(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace hotlens::lab
