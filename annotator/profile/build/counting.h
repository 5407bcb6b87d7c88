// Arithmetic and bytes of the step that is shown, counted on a thread of its own while the rest of the profile is made.
#pragma once

#include <cstdint>
#include <future>
#include <vector>

#include "annotator/costs/step_costs.h"
#include "annotator/profile/build/annotated.h"

namespace hotlens::profile {

struct Counting {
  std::future<costs::Costs> costs;
  std::vector<std::uint32_t> position;  // by module as the costs have them: among those of the profile
};

// `annotated` must outlive the future and stay as it is.
std::future<costs::Costs> count_costs(const Annotated& annotated, const std::vector<std::uint32_t>& parents, std::size_t step);

// Waits for the costs.
void fill_costs(Counting counting, Profile& profile);

}  // namespace hotlens::profile
