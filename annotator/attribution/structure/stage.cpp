#include "annotator/attribution/structure/stage.h"

#include <utility>

namespace hotlens::attribution {

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::data:
      return "data";
    case Stage::copy:
      return "copy";
    case Stage::zero_grad:
      return "zero_grad";
    case Stage::forward:
      return "forward";
    case Stage::loss:
      return "loss";
    case Stage::backward:
      return "backward";
    case Stage::optimizer:
      return "optimizer";
    case Stage::evaluation:
      return "evaluation";
    case Stage::other:
      return "other";
  }
  std::unreachable();
}

std::string_view name(Bucket bucket) {
  switch (bucket) {
    case Bucket::data_loading:
      return "data_loading";
    case Bucket::host_to_device:
      return "host_to_device";
    case Bucket::zero_grad:
      return "zero_grad";
    case Bucket::forward:
      return "forward";
    case Bucket::loss:
      return "loss";
    case Bucket::backward:
      return "backward";
    case Bucket::recompute:
      return "recompute";
    case Bucket::gradient_accumulation:
      return "gradient_accumulation";
    case Bucket::communication:
      return "communication";
    case Bucket::optimizer:
      return "optimizer";
    case Bucket::evaluation:
      return "evaluation";
    case Bucket::waiting:
      return "waiting";
    case Bucket::host:
      return "host";
    case Bucket::earlier_step:
      return "earlier_step";
    case Bucket::unattributed:
      return "unattributed";
  }
  std::unreachable();
}

std::string_view name(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::backward:
      return "backward";
    case Direction::recompute:
      return "recompute";
  }
  std::unreachable();
}

std::optional<Stage> stage_named(std::string_view text) {
  for (const Stage stage :
       {Stage::data, Stage::zero_grad, Stage::forward, Stage::loss, Stage::backward, Stage::optimizer, Stage::evaluation}) {
    if (name(stage) == text) return stage;
  }
  return std::nullopt;
}

}  // namespace hotlens::attribution
