#include "annotator/profile/build/module_name.h"

#include "tests/unit/catch.h"

using namespace hotlens::profile;

TEST_CASE("a recorded module's name follows the last dot") {
  CHECK(last_name("layer1.0.conv1", How::recorded) == "conv1");
  CHECK(last_name("fc", How::recorded) == "fc");
  CHECK(last_name("", How::recorded).empty());
}

TEST_CASE("a dot in a name that a trace tells is part of it") {
  for (const How how : {How::frames, How::annotations, How::guess}) {
    CHECK(last_name("DistributedDataParallel.forward/Net_0/Linear_12", how) == "Linear_12");
    CHECK(last_name("Net_0/block.1", how) == "block.1");
    CHECK(last_name("DistributedDataParallel.forward", how) == "DistributedDataParallel.forward");
  }
}

TEST_CASE("the model itself is called by its class") {
  Module root;
  root.class_name = "ResNet";
  root.how = How::recorded;
  CHECK(last_name(root) == "ResNet");
  root.path = "module.backbone";
  CHECK(last_name(root) == "backbone");
}

TEST_CASE("an instance is its class and a counter") {
  CHECK(class_of_instance("Linear_3") == "Linear");
  CHECK(class_of_instance("Conv2d_Fused_0") == "Conv2d_Fused");
  CHECK(class_of_instance("Odd") == "Odd");
}
