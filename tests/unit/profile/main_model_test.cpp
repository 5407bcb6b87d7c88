#include "annotator/profile/main_model.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

Module root(const char* path, const char* class_name, std::int64_t forward, std::int64_t backward) {
  Module module;
  module.path = path;
  module.class_name = class_name;
  module.forward.push_back({.cpu_total = Ns{forward}});
  module.backward.push_back({.cpu_total = Ns{backward}});
  return module;
}

}  // namespace

TEST_CASE("a headline names the model that takes most of the step, not what prepares its batches") {
  Profile profile;
  CHECK(main_model(profile).empty());
  profile.steps.resize(1);
  profile.modules = {root("augment", "Augmentation", 300, 0), root("model", "Unet", 200, 400), root("loss", "DiceLoss", 100, 0)};
  CHECK(main_model(profile) == "Unet");
  Module inner = root("model.encoder", "Encoder", 900, 900);
  inner.parent = ModuleId{1};
  profile.modules.push_back(inner);
  CHECK(main_model(profile) == "Unet");
}

TEST_CASE("models of one class count together, one without a class has its path, and of a list what it holds counts") {
  Profile profile;
  profile.steps.resize(1);
  profile.modules = {root("policy", "Policy", 500, 0), root("first", "Critic", 300, 0), root("second", "Critic", 300, 0)};
  CHECK(main_model(profile) == "Critic");
  profile.modules.push_back(root("parts", "ModuleDict", 900, 0));
  profile.modules.push_back(root("parts.rnn", "GRU", 900, 0));
  profile.modules.back().parent = ModuleId{3};
  profile.modules[3].children = {ModuleId{4}};
  CHECK(main_model(profile) == "GRU");
  profile.modules = {root("Net_0", "", 300, 0)};
  CHECK(main_model(profile) == "Net_0");
}
