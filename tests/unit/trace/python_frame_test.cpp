#include "annotator/trace/python_frame.h"

#include "tests/unit/catch.h"

using namespace hotlens::trace;

TEST_CASE("the name of a Python event tells file, line and function") {
  const auto frame = frame_named("models/net (old).py(41): forward");
  REQUIRE(frame);
  CHECK(frame->path == "models/net (old).py");
  CHECK(frame->line == 40);
  CHECK(frame->function == "forward");
  CHECK(spelled(frame->path, frame->line, frame->function) == "models/net (old).py:41 forward");
  for (const char* other : {"nn.Module: Linear_3", "<built-in function linear>", "train.py(x): f", "train.py(0): f", ""}) {
    CHECK_FALSE(frame_named(other));
  }
}

TEST_CASE("a person's own files are told from torch's, installed ones and Python's") {
  for (const char* own : {"train.py", "src/model/blocks.py", "/home/me/typing_tools/run.py", "transformers/models/bert/modeling_bert.py"}) {
    CHECK(is_own_file(own));
  }
  for (const char* other : {"torch/nn/modules/module.py", "/usr/lib/python3.11/queue.py", "/opt/env/site-packages/numpy/core.py",
                            "threading.py", "multiprocessing/spawn.py", "<string>", "torchvision/models/resnet.py"}) {
    CHECK_FALSE(is_own_file(other));
  }
}
