// What holds the step up, in one word, with the times that say so.
#pragma once

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// From the finished numbers of a profile. "unclear" when no cause has a clear majority.
Verdict judge(const Profile& profile);

}  // namespace hotlens::profile
