// Each change as edits of a script, or why there is none; the names are those of the kinds.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "annotator/advice/edits/script.h"

namespace hotlens::advice {

// `option`: "fused" or "foreach".
Made optimizer(const Script& script, std::string_view option);
Made zero_grad(const Script& script);
Made channels_last(const Script& script);
// Of the model whose parameters the optimizer gets, before that is made.
Made compile(const Script& script);
// From the model's call to the last statement before the one that goes backward, in one block.
Made autocast(const Script& script, std::string_view device);
// Of the DataLoader that the loop takes its batches from.
Made loader_workers(const Script& script);
Made pin_memory(const Script& script);
// Of the loop whose body calls the model: each half of its batch, one update.
Made accumulate(const Script& script);
// Of the layers at these paths.
Made no_dropout(const Script& script, std::span<const std::string> paths);
Made no_conv_bias(const Script& script, std::span<const std::string> paths);
Made inplace_relu(const Script& script, std::span<const std::string> paths);
Made pool_before_relu(const Script& script, std::span<const std::string> paths);
// Of the classes that these norms are of.
Made batch_norm_eval(const Script& script, std::span<const std::string> paths);
Made gelu_to_relu(const Script& script, std::span<const std::string> paths);
Made checkpoint(const Script& script, std::span<const std::string> paths);
// The library's own way to checkpoint all layers that it reaches.
Made model_switch(const Script& script, const profile::CheckpointSwitch& by);
// Of loops over time in the code of these modules' classes, or else in functions of no class.
Made unbind_time(const Script& script, std::span<const std::string> paths);
// Before the optimizer is made.
Made cudnn_benchmark(const Script& script);
Made tf32(const Script& script);
// Of loops over time whose state is a product and a sum of the last one.
Made scan_time(const Script& script);
// Of expressions in the code of these modules' classes, and in functions of no class.
Made gelu_tanh(const Script& script, std::span<const std::string> paths);
// Of attention that the code of these modules' classes, or functions of no class, write out.
Made fused_attention(const Script& script, std::span<const std::string> paths);

}  // namespace hotlens::advice
