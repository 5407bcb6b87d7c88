// The closed vocabularies of the annotation: what part of a step, which row of its account, which way through the network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hotlens::attribution {

// `evaluation`: what a step of training computes without gradients of a model that it has switched to evaluation, or after its last update.
enum class Stage : std::uint8_t { data, copy, zero_grad, forward, loss, backward, optimizer, evaluation, other };
constexpr std::size_t kStages = 9;

enum class Bucket : std::uint8_t {
  data_loading,
  host_to_device,
  zero_grad,
  forward,
  loss,
  backward,
  recompute,  // forward work that backward runs again (checkpointing)
  gradient_accumulation,
  communication,
  optimizer,
  evaluation,
  waiting,       // the host waits for the device: synchronisation, full launch queue
  host,          // Python and other host code with no torch operator running and no stage around it
  earlier_step,  // device work whose launch lies before the recording
  unattributed,
};
constexpr std::size_t kBuckets = 15;

enum class Direction : std::uint8_t { forward, backward, recompute };

std::string_view name(Stage stage);
std::string_view name(Bucket bucket);
std::string_view name(Direction direction);

// The stage of that name that a loop can mark; copies and the rest are told from what runs, so their names are none.
std::optional<Stage> stage_named(std::string_view text);

}  // namespace hotlens::attribution
