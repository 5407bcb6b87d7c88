// What modules are called: path, own name, class.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/build/annotated.h"

namespace hotlens::profile {

struct ModuleName {
  std::string path, class_name;
};

// By the module numbers of annotated.owners, as Profile::modules has them.
std::vector<ModuleName> names_of_modules(const Annotated& annotated);

// The name that its parent knows a module by: "conv1" of "layer1.0.conv1", "Linear_3" of "Net_0/Linear_3". A path that a trace tells is
// joined by slashes, and a dot in a name there is part of it ("DistributedDataParallel.forward"). In a recorded path a slash stands before
// a module that is called from elsewhere than its own place. Empty for the model itself.
std::string_view last_name(std::string_view path, How how);
// The same; of the model itself its class.
std::string_view last_name(const Module& module);

// "Linear" of the instance "Linear_3" that module frames name.
std::string_view class_of_instance(std::string_view instance);

}  // namespace hotlens::profile
