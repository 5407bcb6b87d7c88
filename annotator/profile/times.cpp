// Numbers per step and what is shown of them.
#include <algorithm>
#include <utility>

#include "annotator/profile/profile.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {

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

Times operator+(const Times& a, const Times& b) {
  return {a.cpu_total + b.cpu_total, a.cpu_self + b.cpu_self, a.device + b.device, a.span + b.span};
}

Ns median(std::vector<Ns> values) {
  if (values.empty()) return Ns{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  const Ns below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

Times median(const PerStep& steps) {
  const auto of = [&](Ns Times::* field) {
    std::vector<Ns> values;
    values.reserve(steps.size());
    for (const Times& times : steps) values.push_back(times.*field);
    return median(std::move(values));
  };
  return {of(&Times::cpu_total), of(&Times::cpu_self), of(&Times::device), of(&Times::span)};
}

bool Profile::has_device() const {
  return std::ranges::any_of(steps, [](const Step& step) { return step.device > Ns{}; });
}

Ns Profile::step_wall() const {
  std::vector<Ns> walls;
  for (const Step& step : steps) walls.push_back(step.wall);
  return median(std::move(walls));
}

Ns headline(const Times& times, bool has_device) {
  return has_device ? times.device : times.cpu_total;
}

}  // namespace hotlens::profile
