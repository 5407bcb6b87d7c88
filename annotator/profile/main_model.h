// Which of the models of a step a headline names.
#pragma once

#include <string>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The class of the outermost modules that takes most of the step, all modules of one class together, or the path of a module without a
// class; "" where there are no modules. Of a list of modules what it holds; of what a package puts around a model of the script's, and of a
// loss that calls it, that model. What only prepares batches (augmentation, features) may be called first.
std::string main_model(const Profile& profile);

}  // namespace hotlens::profile
