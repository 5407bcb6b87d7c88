// Numbers per step and what is shown of them.
#include <algorithm>
#include <utility>

#include "annotator/profile/profile.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

constexpr std::array kFields = {
    &Times::cpu_total,        &Times::cpu_self, &Times::device,      &Times::span,        &Times::recompute_cpu,
    &Times::recompute_device, &Times::waiting,  &Times::idle_before, &Times::idle_inside, &Times::exposed_communication,
    &Times::estimated};

}  // namespace

std::string_view name(How how) {
  switch (how) {
    case How::recorded:
      return "recorded";
    case How::frames:
      return "frames";
    case How::annotations:
      return "annotations";
    case How::guess:
      return "static";
    case How::none:
      return "none";
  }
  std::unreachable();
}

std::string_view name(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames = {"data",          "copy", "sync",   "launch", "compute",       "memory",
                                                            "communication", "host", "queued", "other",  "thin_products", "unrecorded"};
  return kNames[static_cast<std::size_t>(cause)];
}

Times operator+(const Times& a, const Times& b) {
  Times sum;
  for (const auto field : kFields) sum.*field = a.*field + b.*field;
  return sum;
}

Ns median(std::vector<Ns> values) {
  if (values.empty()) return Ns{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  const Ns below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

std::int64_t usual(std::vector<std::int64_t> counts) {
  if (counts.empty()) return 0;
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::ranges::nth_element(counts, middle);
  return *middle;
}

bool Profile::has_device() const {
  return std::ranges::any_of(steps, [](const Step& step) { return step.device > Ns{}; });
}

Ns Profile::step_wall() const {
  return steps.empty() ? Ns{} : steps.at(representative).wall;
}

Ns Profile::shown(const std::vector<Ns>& of_steps) const {
  return representative < of_steps.size() ? of_steps[representative] : Ns{};
}

Times Profile::shown(const PerStep& of_steps) const {
  return representative < of_steps.size() ? of_steps[representative] : Times{};
}

Ns headline(const Times& times, bool has_device) {
  return has_device ? times.device : times.cpu_total;
}

std::vector<Ns> headlines(const Module& module, bool has_device) {
  std::vector<Ns> steps;
  for (std::size_t step = 0; step < module.forward.size(); ++step) {
    steps.push_back(headline(module.forward[step] + module.backward[step], has_device));
  }
  return steps;
}

}  // namespace hotlens::profile
