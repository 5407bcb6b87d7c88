#include "annotator/profile/build/counting.h"

#include <utility>

namespace hotlens::profile {

std::future<costs::Costs> count_costs(const Annotated& annotated, const std::vector<std::uint32_t>& parents, std::size_t step) {
  return std::async(std::launch::async, [&annotated, parents, step] {
    return costs::step_costs({.trace = annotated.trace,
                              .forest = annotated.forest,
                              .account = annotated.account,
                              .owners = annotated.owners,
                              .module_parent = parents,
                              .step = step,
                              .given = given_of(annotated)});
  });
}

void fill_costs(Counting counting, Profile& profile) {
  costs::Costs costs = counting.costs.get();
  profile.costs = std::move(costs.step);
  for (std::size_t module = 0; module < counting.position.size(); ++module) {
    Module& of = profile.modules[counting.position[module]];
    of.forward_costs = std::move(costs.forward[module]);
    of.backward_costs = std::move(costs.backward[module]);
  }
}

}  // namespace hotlens::profile
