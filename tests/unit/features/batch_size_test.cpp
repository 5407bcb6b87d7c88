#include "server/features/actions/batch_size.h"

#include "server/features/commands.h"
#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;

TEST_CASE("the line of the batch size offers a prediction, then shows it, with an edit of the number alone") {
  const test::TemporaryFolder folder;
  auto profile = std::make_shared<profile::Profile>(*test::small_profile(folder.path() / "model.py"));
  profile->samples_per_step = 32;  // gradients of four batches are accumulated
  profile->batch_size = 8;
  const FileView view = test::open(profile, std::string("batch_size = 8\n") + test::kModelText);
  const auto title = [&](const Options& options) {
    for (const Lens& lens : code_lenses(view, options)) {
      if (lens.line == 0) return lens.title + (lens.command.empty() ? "" : " -> " + lens.command);
    }
    return std::string();
  };
  CHECK(title({}) == std::string("▸ Predict other batch sizes -> ") + kPredictCommand);
  CHECK(title({.trusted = false}).empty());
  CHECK(title({.running = true}).empty());
  CHECK(title({.predicting = true}) == "predicting other batch sizes …");
  CHECK(code_actions(view, {0, 1}, {}).size() == 2);

  using lab::Method;
  const auto ms = [](int value) { return Ns{value * 1'000'000}; };
  auto predicted = std::make_shared<lab::BatchSizes>();
  predicted->points = {
      {.batch = 4, .method = Method::replay, .time = lab::StepTime{ms(5), ms(4), ms(6)}, .peak = Bytes{60'000'000}, .note = {}},
      {.batch = 8, .method = Method::run, .time = lab::StepTime{ms(10), ms(10), ms(10)}, .peak = Bytes{100'000'000}, .note = {}},
      {.batch = 16, .method = Method::replay, .time = lab::StepTime{ms(16), ms(15), ms(18)}, .peak = Bytes{180'000'000}, .note = {}}};
  const Options known{.batch_sizes = predicted};
  CHECK(title(known) == "batch size 8 → 16: ≈ +25 % samples/s (+11…+33), memory 100 MB → 180 MB");
  const auto uneven = std::make_shared<lab::BatchSizes>(*predicted);
  uneven->points.back().time->low = Ns{1};
  CHECK(title({.batch_sizes = uneven}) == "batch size 8 → 16: ≈ +25 % samples/s (+11 or more), memory 100 MB → 180 MB");
  const auto ending = std::make_shared<lab::BatchSizes>(*predicted);
  ending->end = {.memory = Bytes{16'000'000'000}, .whose = "this machine", .largest_batch = 1432};
  CHECK(title({.batch_sizes = ending}) == title(known) + " · up to 1432 fit into 16.0 GB");
  const auto actions = code_actions(view, {0, 1}, known);
  REQUIRE(actions.size() == 4);
  CHECK(actions.back().command == kArgumentsCommand);
  CHECK(actions[1].title == "Batch size 8 → 4: about as many samples/s, memory 100 MB → 60.0 MB");
  REQUIRE(actions[2].edit);
  CHECK(actions[2].edit->range == source::Range{{0, 13}, {0, 14}});
  CHECK(actions[2].edit->text == "16");
  CHECK(code_actions(view, {1, 9}, known).size() == 2);
  // The number is another one now.
  CHECK(code_actions(test::open(profile, std::string("batch_size = 9\n") + test::kModelText), {0, 1}, known).size() == 2);
}
