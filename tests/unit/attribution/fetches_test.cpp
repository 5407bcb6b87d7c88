#include "annotator/attribution/structure/fetches.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// Turns of 1000 µs: something for 600 µs, the gradients, the model, its backward, the update, and a log at the end.
struct Turns {
  std::string first = "train.py(4): batches", later = "train.py(9): batches";
  std::string inside;  // an operator of what comes first
  bool loader = false;

  Script script(int count = 5) const {
    Script script;
    for (int turn = 0; turn < count; ++turn) {
      const std::int64_t at = turn * 1000;
      script.frame(turn == 0 ? first : later, at, 600);
      if (!inside.empty()) script.op(inside, at + 500, 10);
      if (loader) script.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 605, 5);
      script.range("Optimizer.zero_grad#SGD.zero_grad", at + 620, 10);
      script.frame("nn.Module: Net_0", at + 650, 100).op("aten::mm", at + 660, 50, {.sequence = turn + 1});
      script.backward("MmBackward0", at + 760, 50, turn + 1);
      script.range("Optimizer.step#SGD.step", at + 820, 50);
      script.frame("train.py(30): log", at + 900, 50).op("aten::item", at + 910, 10);
    }
    return script;
  }
};

std::size_t stages_of_data(const Script& script) {
  const Read read(script);
  std::size_t found = 0;
  for (std::uint32_t node = 0; node < read.forest.size(); ++node) found += read.forest.is_stage(node, Stage::data);
  return found;
}

}  // namespace

TEST_CASE("a generator that runs before each call of the model loads data, a log after the update does not") {
  const Script script = Turns{}.script();
  CHECK(stages_of_data(script) == 5);
  const Read read(script);
  for (std::uint32_t node = 0; node < read.forest.size(); ++node) {
    if (read.forest.is_stage(node, Stage::data)) CHECK(read.forest.end[node] - read.forest.start[node] == us(600));
  }
}

TEST_CASE("a function loads data where its name or a tensor out of none says so") {
  CHECK(stages_of_data(Turns{.first = "train.py(4): get_batch", .later = "train.py(4): get_batch"}.script()) == 5);
  CHECK(stages_of_data(Turns{.first = "train.py(4): make", .later = "train.py(4): make", .inside = "aten::randint"}.script()) == 5);
  CHECK(stages_of_data(Turns{.first = "train.py(4): make", .later = "train.py(4): make", .inside = "aten::add"}.script()) == 0);
  CHECK(stages_of_data(Turns{.first = "train.py(4): make", .later = "train.py(4): make"}.script()) == 0);
}

TEST_CASE("where a range says what loads, no function is taken for it") {
  CHECK(stages_of_data(Turns{.loader = true}.script()) == 5);  // the ranges
}

TEST_CASE("a function of torch or an installed package, and one that comes now and then, load nothing") {
  CHECK(stages_of_data(Turns{.first = "torch/utils.py(4): get_batch", .later = "torch/utils.py(4): get_batch"}.script()) == 0);
  CHECK(stages_of_data(Turns{.first = "train.py(4): get_batch", .later = "train.py(50): other"}.script(9)) == 0);
}

TEST_CASE("a method of a name that two classes have is no generator") {
  Script script;
  for (int turn = 0; turn < 6; ++turn) {
    script.frame(turn % 2 == 0 ? "train.py(4): update" : "train.py(40): update", turn * 1000, 600);
    script.frame("nn.Module: Net_0", turn * 1000 + 650, 100).op("aten::mm", turn * 1000 + 660, 50);
  }
  CHECK(stages_of_data(script) == 0);
}
