#include "server/lab/worker.h"

#include <algorithm>

namespace hotlens::lab {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kLoading{120'000};     // libtorch from a cold disk, and a program of some ten thousand operators
constexpr milliseconds kAfterBudget{10'000};  // after the budget: one operator may be slow, and memory is written for the first time

json parsed(const std::string& text) {
  return json::parse(text, nullptr, false);
}

}  // namespace

Result<json> Worker::ask(const json& request, milliseconds within) {
  const auto answer = conversation_->ask(request.dump(-1, ' ', false, json::error_handler_t::replace), within);
  if (!answer) return std::unexpected(answer.error());
  return parsed(*answer);
}

Result<void> Worker::begin() {
  auto started = runs::Conversation::start({.argv = {program_.string()}});
  if (!started) return std::unexpected(started.error());
  conversation_ = std::move(*started);
  loaded_ = false;
  return {};
}

Result<void> Worker::start() {
  const bool alive = conversation_ && conversation_->alive();
  if (alive && loaded_) return {};
  if (!alive) {
    if (auto begun = begin(); !begun) return begun;
  }
  loaded_ = true;
  json load{{"do", "load"}, {"program", document_}, {"memory_bytes", memory_}};
  if (!edited_.is_null()) load["edited"] = edited_;
  const auto loaded = ask(load, kLoading);
  if (!loaded) return std::unexpected(loaded.error());
  if (loaded->is_object() && !loaded->contains("error")) return {};
  const auto refused = read_replays(*loaded);
  conversation_.reset();
  const std::string where = refused.error().op.empty() ? "" : refused.error().op + " ";
  return std::unexpected(Error{ErrorCode::unsupported, where + refused.error().reason, {}});
}

Result<json> Worker::follow(json what, std::int64_t batch, milliseconds budget) {
  if (const auto started = start(); !started) return std::unexpected(started.error());
  what.update({{"do", "follow"}, {"batch", batch}, {"budget_ms", budget.count()}});
  return ask(what, budget + kAfterBudget);
}

std::expected<std::vector<Replays>, Refusal> Worker::step(const StepRequest& request) {
  const auto refuse = [](const Error& error) { return std::unexpected(Refusal{.reason = error.message}); };
  if (const auto started = start(); !started) return refuse(started.error());
  json step{{"do", "step"},
            {"batch", request.batches},
            {"rounds", request.rounds},
            {"budget_ms", request.budget.count()},
            {"events", request.events},
            {"edited", request.edited},
            {"alone", request.alone},
            {"warm", request.warm}};
  if (!request.plans.empty()) step["plans"] = request.plans;
  const auto answer = ask(step, request.budget + kAfterBudget);
  if (!answer) return refuse(answer.error());
  auto replays = read_replays(*answer);
  const std::size_t plans = request.alone ? 0 : std::max<std::size_t>(request.plans.size(), 1);
  const std::size_t wanted = request.batches.size() * (plans + (request.edited ? 1 : 0));
  if (replays && replays->size() != wanted) return std::unexpected(Refusal{.reason = "the worker's answer is broken"});
  return replays;
}

}  // namespace hotlens::lab
