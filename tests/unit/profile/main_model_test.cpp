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

TEST_CASE("what a package puts around the script's model has the model's name") {
  Profile profile;
  profile.steps.resize(1);
  profile.files = {{.path = "/w/train.py", .workspace = true}, {.path = "/site-packages/wraps.py"}};
  const Site script{.file = FileId{0}}, package{.file = FileId{1}};
  profile.modules = {root("", "GradSampleModule", 1000, 0), root("_module", "Inner", 990, 0), root("_module.net", "Net", 980, 0)};
  profile.modules[0].children = {ModuleId{1}};
  profile.modules[1].children = {ModuleId{2}};
  profile.modules[1].parent = ModuleId{0};
  profile.modules[2].parent = ModuleId{1};
  for (const std::size_t at : {0U, 1U}) profile.modules[at].class_site = profile.modules[at].constructed = package;
  profile.modules[2].constructed = profile.modules[2].class_site = script;
  CHECK(main_model(profile) == "Net");
  profile.modules[0].constructed = script;  // who trains it has named it
  CHECK(main_model(profile) == "GradSampleModule");
  profile.modules[0].class_name = "CosineSimilarityLoss";
  CHECK(main_model(profile) == "Net");
  profile.modules[0].class_site = script;  // a loss that is written here
  CHECK(main_model(profile) == "CosineSimilarityLoss");
  profile.modules[0].class_site = package;
  profile.modules[2].forward[0].cpu_total = Ns{700};  // and much of its own
  CHECK(main_model(profile) == "Net");
  profile.modules[1].children = {ModuleId{3}, ModuleId{2}};
  profile.modules.push_back(root("_module.other", "Identity", 280, 0));
  CHECK(main_model(profile) == "CosineSimilarityLoss");
}
