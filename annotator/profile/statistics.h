// Over steps: medians, the representative step, outliers.
#pragma once

#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The middle value, or the mean of the two middle ones; 0 for none.
Ns median(std::vector<Ns> values);

// Marks steps that took clearly longer than the others, and names the one nearest to the median.
void mark_outliers(std::vector<Step>& steps);
std::size_t representative(const std::vector<Step>& steps);

}  // namespace hotlens::profile
