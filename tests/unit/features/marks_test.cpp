#include "server/features/binding/marks.h"

#include "annotator/profile/loop.h"
#include "fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using profile::Cause;
using profile::Profile;

namespace {

struct Marked {
  test::TemporaryFolder folder;
  std::shared_ptr<Profile> profile = std::make_shared<Profile>(*test::small_profile(folder.path() / "model.py"));
  std::vector<features::Mark> marks() const { return test::open(profile).facts->marks; }
  std::optional<features::Mark> mark() const { return marks().empty() ? std::nullopt : std::optional(marks().front()); }
};

void load_slowly(Profile& profile) {
  profile.stages.push_back({.stage = profile::Stage::data, .wall = {Ns{4'000'000}, Ns{4'000'000}}});
  profile.stage_sites.push_back({.site = test::site(14, 13, 19, "train"),
                                 .stage = profile::Stage::data,
                                 .wall = profile.stages.back().wall,
                                 .cpu = {Ns{}, Ns{}},
                                 .device = {Ns{}, Ns{}}});
  profile.verdict = {.kind = "data", .evidence = {{"host loads data", Ns{4'000'000}, "model.py:15"}}};
}

}  // namespace

TEST_CASE("a step that waits for its batches is marked where it gets them, with the number of the line's hint") {
  Marked opened;
  load_slowly(*opened.profile);
  const auto mark = opened.mark();
  REQUIRE(mark);
  CHECK(mark->code == "data-bound");
  CHECK(mark->at.text == "for x in loader:");
  CHECK(mark->at.first == 14);
  CHECK(mark->message == "Data-bound: the step gets its batch here, 4.00 ms, 36% of the step.");
  const auto hints = features::inlay_hints(test::open(opened.profile), {14, 15}, {});
  REQUIRE(hints.size() == 1);
  CHECK(hints.front().label == "4.00 ms 36%");
}

TEST_CASE("overhead is marked at the line that it happens in, beside what the whole step has of it") {
  Marked opened;
  opened.profile->verdict = {.kind = "launch", .evidence = {{"overhead of Python and operators", Ns{5'500'000}, "layers"}}};
  opened.profile->spent[static_cast<std::size_t>(Cause::launch)] = Ns{5'500'000};
  opened.profile->lines[0].spent[static_cast<std::size_t>(Cause::launch)] = Ns{3'300'000};
  const auto mark = opened.mark();
  REQUIRE(mark);
  CHECK(mark->code == "launch-bound");
  CHECK(mark->at.text == "x = layer(x)");
  CHECK(mark->message == "Launch-bound: overhead of Python and operators: 5.50 ms (50%) of the step, 3.30 ms of it in what runs here.");
}

TEST_CASE("what a line can hardly change is not marked, nor is a verdict without a line") {
  Marked opened;
  CHECK(!opened.mark());
  load_slowly(*opened.profile);
  opened.profile->verdict.kind = "compute";
  CHECK(!opened.mark());
  opened.profile->verdict.kind = "launch";
  CHECK(!opened.mark());
}

TEST_CASE("an evaluation with gradients on is marked where the model is called, beside what limits the step") {
  Marked opened;
  load_slowly(*opened.profile);
  profile::Loop loop{.updates = 1, .made = 1, .watched = Ns{11'000'000}, .behind = {}, .startup = {}, .statements = {}};
  loop.unused_graphs.push_back({.site = test::site(15, 4, 20, "evaluate"), .model = "Net\x1b[2J", .kept = Bytes{524'288}});
  loop.unused_graphs.push_back({.site = test::site(4000, 4, 20, "evaluate"), .model = "Net", .kept = Bytes{1}});
  loop.unused_graphs.push_back({.site = test::site(15, 4, 20, "evaluate"), .model = "Net", .kept = Bytes{1}});
  loop.unused_graphs.back().site.file = profile::FileId{7};
  opened.profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
  const std::vector<features::Mark> marks = opened.marks();
  REQUIRE(marks.size() == 2);
  CHECK(marks[0].limits);
  CHECK(!marks[1].limits);
  CHECK(marks[1].code == "no_grad");
  CHECK(marks[1].at.first == 15);
  CHECK(marks[1].message ==
        "Net?[2J is called with gradients on and no backward pass follows: each call keeps 524 kB until its results go; nothing "
        "under torch.no_grad().");
}

TEST_CASE("anomaly detection is marked where it is switched on, if the run has met it") {
  const auto lines = [](bool met, const std::string& text) {
    test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "model.py";
    auto profile = std::make_shared<Profile>(*test::small_profile(file));
    if (met) profile->warnings.push_back({"anomaly_detection", "torch.autograd.set_detect_anomaly is on"});
    const source::Tree tree = source::Tree::parse(text);
    const auto facts = test::open(profile).facts;
    std::vector<std::uint32_t> found;
    for (const features::Mark& mark : features::marks_of(features::view(file, tree, facts, profile))) {
      if (mark.code == "anomaly_detection") found.push_back(mark.at.first);
    }
    return found;
  };
  const std::string text = "import torch\n# set_detect_anomaly(True)\ntorch.autograd.set_detect_anomaly(True)\nset_detect_anomaly(False)\n";
  CHECK(lines(true, text) == std::vector<std::uint32_t>{2});
  CHECK(lines(true, text + "with torch.autograd.detect_anomaly():\n    pass\n") == std::vector<std::uint32_t>{2, 4});
  CHECK(lines(false, text).empty());
}
