// What-ifs: changes of a training step that people make in one line, as edits of its recorded program.
//
// An edit is a pure function: a program in, the program of the changed script out, or why the change does not apply here. One kind, one
// file; kinds.cpp lists them, and what only runs of the script tell of. What an edit leaves, the worker replays in turn with what was
// recorded (outcome.h). Tensors that only the graph kept are let go after their last use, so that a changed graph keeps what it needs and
// no more.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

// Why a change does not apply. `op` and `module`: where, if it is somewhere.
struct NotHere {
  std::string reason, op = {}, module = {};
};

struct Edit {
  Program program;
  std::string evidence;              // what is changed, as a sentence without its stop
  std::vector<std::string> modules;  // paths of those whose operators are changed, each once; empty: it is no matter of modules
};
using Edited = std::expected<Edit, NotHere>;

// The line that a change belongs to.
enum class Where : std::uint8_t { optimizer, zero_grad, model, modules };

struct Kind {
  std::string_view name, title;
  std::string_view assumes;  // what carries the prediction, and what else changes
  Where where = Where::model;
  double error = 0;                             // of the ratio of step times, as a fraction: what is added to the noise of the replays
  Edited (*edit)(Program) = nullptr;            // nullptr: no replay knows it
  std::optional<double> losses = std::nullopt;  // how far they may lie apart, as a fraction; absent: the change may alter them
  bool of_sizes = false;                        // the program has to follow the batch size (program/join.h)
  bool depends = false;                         // it changes what is trained: told apart as what the step depends on, and never advised
  std::int64_t times_batch = 1;                 // the batch is so many times as large: what is told is that of other batch sizes

  bool is_replayed() const { return edit != nullptr || times_batch > 1; }
};

constexpr std::string_view kOnlyMeasured = "no replay knows what this makes of the step; runs before and after it do (--verify)";

// In the order in which they are offered.
std::span<const Kind> kinds();
const Kind* kind_named(std::string_view name);

Edited foreach_optimizer(Program program);
Edited fused_optimizer(Program program);
Edited channels_last(Program program);
Edited autocast_bf16(Program program);
Edited no_dropout(Program program);
Edited gelu_to_relu(Program program);
Edited batch_norm_eval(Program program);
Edited no_conv_bias(Program program);
Edited inplace_relu(Program program);
Edited pool_before_relu(Program program);
Edited zero_grad_none(Program program);
Edited checkpoint_blocks(Program program);
Edited fused_attention(Program program);
Edited unbind_time(Program program);
Edited gelu_tanh(Program program);
Edited accumulate(Program program);
Edited one_block_fewer(Program program);

}  // namespace hotlens::lab
