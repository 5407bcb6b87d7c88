#include "annotator/advice/seen.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

const std::string kText = "import torch\nopt = Adam(p)\nloss()\n";
const std::string kEdited = "import torch\nopt = Adam(p, fused=True)\nloss()\n";
const std::vector<lab::SourceEdit> kEdits{
    {.file = "/w/train.py", .line = 1, .character = 12, .end_line = 1, .end_character = 12, .was = "", .text = ", fused=True"}};

Ran ran(const std::string& text, std::int64_t step_us) {
  Ran made{.manifest = {.id = "p", .created = "2026-11-21T10:00:00Z", .torch = "2.13.0", .argv = {"train.py"}, .threads = 1},
           .files = {{"/w/train.py", {.sha256 = text, .text = text}}, {"/w/model.py", {.sha256 = "m", .text = "m"}}}};
  std::vector<Ns> steps;
  for (std::int64_t at = 0; at < 20; ++at) steps.emplace_back(step_us * 1000 + at % 5 * 1000);
  made.steps = profile::RunSamples{.runs = {profile::sample(steps)}, .prior = profile::prior_of(std::nullopt)};
  return made;
}

std::string why(const Ran& after) {
  const auto step = judged(kEdits, ran(kText, 1000), after);
  return step ? "" : step.error();
}

}  // namespace

TEST_CASE("a profile that has the change and nothing else tells what came of it") {
  const auto step = judged(kEdits, ran(kText, 1000), ran(kEdited, 800));
  REQUIRE(step);
  CHECK(step->ratio.ratio == Approx(0.8).epsilon(0.01));
  CHECK(step->ratio.low < 0.79);
  CHECK(step->ratio.high > 0.81);
  CHECK(step->ratio.high < 1);
  CHECK(step->was == Ns{1'002'000});
}

TEST_CASE("a change that was taken back, or has company, is not counted, and it is said why") {
  CHECK(why(ran(kText, 800)) == "the change is not in train.py any more");
  CHECK(why(ran(kEdited + "more()\n", 800)).starts_with("train.py was changed elsewhere as well"));
  CHECK(why(ran("opt = SGD(p)\n", 800)).starts_with("train.py was changed elsewhere as well"));
  Ran other = ran(kEdited, 800);
  other.files.at("/w/model.py").sha256 = "n";
  CHECK(why(other) == "model.py was changed as well");
  other.files.erase("/w/model.py");
  CHECK(why(other) == "model.py is not part of it any more");
  other = ran(kEdited, 800);
  other.files["/w/new.py"] = {.sha256 = "n", .text = {}};
  CHECK(why(other) == "new.py is new in it");
}

TEST_CASE("another batch size is one number of the command or of a text, and nothing else") {
  const Ran before = ran("loader(x, 32)\n", 1000);
  const auto why_not = [&](const Ran& after) {
    const auto step = judged_size(before, after);
    return step ? "" : step.error();
  };
  Ran after = ran("loader(x, 320)\n", 2000);
  after.manifest.samples_per_step = 320;
  REQUIRE(judged_size(before, after));
  CHECK(judged_size(before, after)->ratio.ratio == Approx(2.0).epsilon(0.01));
  CHECK(why_not(before) == "not one number alone is another one");
  CHECK(why_not(ran("loader(x, n)\n", 2000)) == "train.py was changed elsewhere as well");
  CHECK(why_not(ran("loader(y, 48)\n", 2000)) == "train.py was changed elsewhere as well");
  Ran by_argument = ran("loader(x, 32)\n", 2000);
  by_argument.manifest.argv = {"train.py", "--batch-size", "64"};
  CHECK(why_not(by_argument) == "it is another command");
  Ran small = by_argument;
  small.manifest.argv.back() = "8";
  CHECK(judged_size(small, by_argument));
  small.manifest.torch = "2.9.0";
  CHECK_FALSE(judged_size(small, by_argument));
  small = by_argument;
  small.manifest.argv.back() = "8";
  small.files.at("/w/train.py") = {.sha256 = "other", .text = "loader(x, 33)\n"};
  CHECK(judged_size(small, by_argument).error() == "not one number alone is another one");
}

TEST_CASE("a profile under other terms is not counted") {
  Ran other = ran(kEdited, 800);
  other.manifest.threads = 4;
  CHECK(why(other).starts_with("torch computes with 4 threads"));
  other = ran(kEdited, 800);
  other.manifest.samples_per_step = 64;
  CHECK(why(other) == "a step has another number of samples");
  other = ran(kEdited, 800);
  other.manifest.torch = "2.14.0";
  CHECK(why(other) == "torch is 2.14.0, and was 2.13.0");
  other = ran(kEdited, 800);
  other.steps.reset();
  CHECK(why(other).starts_with("one of the profiles timed no step"));
}

TEST_CASE("edits are made where the text reads as they say") {
  CHECK(edited_text(kText, kEdits) == kEdited);
  std::vector<lab::SourceEdit> two = kEdits;
  two.push_back({.file = "/w/train.py", .line = 2, .character = 0, .end_line = 2, .end_character = 4, .was = "loss", .text = "mean"});
  CHECK(edited_text(kText, two) == "import torch\nopt = Adam(p, fused=True)\nmean()\n");
  two[1].was = "more";
  CHECK_FALSE(edited_text(kText, two));
  two[1] = {.file = "/w/train.py", .line = 9, .character = 0, .end_line = 9, .end_character = 0, .was = "", .text = "x"};
  CHECK_FALSE(edited_text(kText, two));
  two[1] = {.file = "/w/train.py", .line = 1, .character = -1, .end_line = 1, .end_character = 0, .was = "", .text = "x"};
  CHECK_FALSE(edited_text(kText, two));
}
