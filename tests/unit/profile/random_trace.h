// Annotated traces written down as calls, or drawn at random: nested operators under modules, launches, kernels on several streams.
#pragma once

#include <memory>
#include <random>

#include "annotator/attribution/structure/annotations.h"
#include "annotator/profile/build/annotated.h"
#include "tests/unit/attribution/fixture.h"

namespace hotlens::profile {

inline std::shared_ptr<const Annotated> annotated_of(const attribution::Script& script) {
  auto annotated = std::make_shared<Annotated>();
  annotated->trace = script.trace();
  annotated->forest = attribution::module_forest(annotated->trace);
  annotated->steps = attribution::find_steps(annotated->trace, annotated->forest);
  annotated->owners = attribution::find_owners(annotated->trace, annotated->forest, annotated->steps, nullptr);
  annotated->how = annotated->owners.source == attribution::ModuleSource::frames ? How::frames : How::none;
  annotated->account = attribution::account(annotated->trace, annotated->forest, annotated->steps, annotated->owners);
  return annotated;
}

// Two steps; device work may overlap on its stream and may last beyond the step that launched it.
class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  attribution::Script draw() {
    attribution::Script script;
    std::int64_t at = 0;
    for (int step = 0; step < 2; ++step) {
      const std::int64_t start = at;
      for (std::int64_t module = between(1, 4); module > 0; --module) at = draw_module(script, at + between(0, 20));
      script.range("ProfilerStep#" + std::to_string(step), start, at + 10 - start);
      at += 10;
    }
    return script;
  }

  std::int64_t between(std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(random_); }

 private:
  std::int64_t draw_module(attribution::Script& script, std::int64_t at, int depth = 0) {
    const std::int64_t start = at;
    at += 2;
    if (depth < 3 && between(0, 2) == 0) at = draw_module(script, at + between(0, 5), depth + 1);
    for (std::int64_t count = between(1, 12); count > 0; --count) at = draw_operator(script, at + between(0, 3), 0);
    script.frame("nn.Module: Linear_" + std::to_string(between(0, 3)), start, at + 2 - start);
    return at + 3;
  }

  std::int64_t draw_operator(attribution::Script& script, std::int64_t at, int depth) {
    const std::int64_t start = at;
    at += 1;
    if (depth < 3 && between(0, 2) == 0) {
      for (std::int64_t count = between(1, 4); count > 0; --count) at = draw_operator(script, at + between(0, 2), depth + 1);
    } else if (between(0, 1) == 0) {
      const std::int64_t correlation = ++launches_;
      script.launch(correlation, at, 3);
      std::int64_t& free = free_[between(0, 1)];
      const std::int64_t begin = std::max(at + 1, free - between(0, 2));  // the one before it may not be over
      const std::int64_t duration = between(1, 30);
      script.kernel("kernel_" + std::to_string(between(0, 4)), correlation, begin, duration);
      free = begin + duration;
      at += 4;
    }
    script.op("aten::op" + std::to_string(between(0, 5)), start, at + 1 - start);
    return at + 2;
  }

  std::mt19937 random_;
  std::int64_t launches_ = 0;
  std::int64_t free_[2] = {0, 0};
};

}  // namespace hotlens::profile
