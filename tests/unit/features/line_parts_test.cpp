// Several calls on one line: a number for each, left to right, that add up.
#include <fstream>
#include <numeric>

#include "server/features/lines/line_parts.h"
#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

namespace {

using namespace hotlens;
using namespace hotlens::features;
using test::cpu;
using test::site;

constexpr const char* kText =
    "class Net(nn.Module):\n"              // 0
    "    def __init__(self):\n"            // 1
    "        self.a = nn.Linear(4, 4)\n"   // 2
    "        self.b = nn.Linear(4, 4)\n"   // 3
    "\n"                                   // 4
    "    def forward(self, x):\n"          // 5
    "        x = self.a(x) + self.b(x)\n"  // 6
    "        return self.b(x)\n";          // 7

// `a` takes 2 ms, `b` 4 ms, line 6 what is given; steps of 10 ms.
struct Line {
  test::TemporaryFolder folder;
  std::shared_ptr<profile::Profile> profile = std::make_shared<profile::Profile>();

  explicit Line(std::int64_t forward_us, std::int64_t backward_us) {
    const std::filesystem::path file = folder.path() / "model.py";
    std::ofstream(file) << kText;
    profile->devices = {{"Test CPU", "cpu"}};
    profile->steps = {{.index = 0, .start = Ns{0}, .wall = Ns{10'000'000}}};
    profile->files = {{.path = file, .copy = file, .sha256 = "", .workspace = true}};
    profile->modules = {{.path = "", .class_name = "Net", .children = {{1}, {2}}, .calls = 1},
                        {.path = "a",
                         .class_name = "Linear",
                         .parent = {0},
                         .calls = 1,
                         .forward = {cpu(1000)},
                         .backward = {cpu(1000)},
                         .attached = site(2, 8, 32, "Net.__init__")},
                        {.path = "b",
                         .class_name = "Linear",
                         .parent = {0},
                         .calls = 1,
                         .forward = {cpu(2000)},
                         .backward = {cpu(2000)},
                         .attached = site(3, 8, 32, "Net.__init__")}};
    profile->call_sites = {{.site = site(6, 24, 33, "Net.forward"), .modules = {{2}}, .calls = 1},
                           {.site = site(6, 12, 21, "Net.forward"), .modules = {{1}}, .calls = 1}};
    profile->lines = {
        {.file = {0}, .line = 6, .function = "Net.forward", .calls = 1, .forward = {cpu(forward_us)}, .backward = {cpu(backward_us)}}};
  }

  Hint hint(std::string text = kText) const {
    for (const Hint& each : inlay_hints(test::open(profile, std::move(text)), {}, {})) {
      if (!each.parts.empty()) return each;
    }
    FAIL("no hint with parts");
    return {};
  }
};

std::vector<std::string> texts(const Hint& hint) {
  std::vector<std::string> out;
  for (const LabelPart& part : hint.parts) out.push_back(part.text);
  return out;
}

}  // namespace

TEST_CASE("several calls on a line are one hint with a part for each, by column") {
  const Line line(3000, 3100);
  const Hint hint = line.hint();
  CHECK(hint.label == "2.0+4.0 ms 61%");
  CHECK(texts(hint) == std::vector<std::string>{"2.0", "+4.0", " ms 61%"});
  CHECK(hint.parts[0].tooltip == "a Linear: 2.00 ms");
  CHECK(hint.parts[1].tooltip == "b Linear: 4.00 ms");
  REQUIRE(hint.parts[1].definition);
  CHECK(hint.parts[1].definition->line == 3);
}

TEST_CASE("what the calls of a line leave over is its last part") {
  const Line line(3500, 4000);
  const Hint hint = line.hint();
  CHECK(hint.label == "2.0+4.0+1.5 ms 75%");
  CHECK(hint.parts[2].tooltip.starts_with("1.50 ms: the rest"));
}

TEST_CASE("a module that other lines call as well has no number of its own") {
  Line line(3000, 3100);
  line.profile->call_sites.push_back({.site = site(7, 15, 24, "Net.forward"), .modules = {{2}}, .calls = 1});
  CHECK(line.hint().label == "2.0+4.1 ms 61%");
}

TEST_CASE("a call has its own part of a module that other lines call as well, where that is known") {
  Line line(2500, 2600);
  line.profile->call_sites.push_back({.site = site(7, 15, 24, "Net.forward"), .modules = {{2}}, .calls = 1});
  line.profile->call_sites[0].forward = line.profile->call_sites[0].backward = {cpu(1500)};
  line.profile->call_sites[1].forward = line.profile->call_sites[1].backward = {cpu(1000)};
  line.profile->call_sites[2].forward = line.profile->call_sites[2].backward = {cpu(500)};
  CHECK(line.hint().label == "2.0+3.0 ms 51%");
}

TEST_CASE("a module that is called twice on a line has a part for each call") {
  Line line(2000, 2000);
  line.profile->call_sites[1].modules = {{2}};
  for (auto& call : line.profile->call_sites) call.forward = call.backward = {cpu(1000)};
  CHECK(line.hint().label == "2.0+2.0 ms 40%");
}

TEST_CASE("parts add up to the line, or there are none") {
  const Line line(500, 500);  // less than its calls: another step's numbers
  const FileView view = test::open(line.profile, kText);
  for (const LineSummary& summary : summarize(view, {})) {
    if (summary.line == 6) CHECK(parts_of(view, summary, summary.facts).empty());
  }
  const Line whole(3500, 4000);
  const FileView shown = test::open(whole.profile, kText);
  for (const LineSummary& summary : summarize(shown, {})) {
    const auto parts = parts_of(shown, summary, summary.facts);
    if (parts.empty()) continue;
    CHECK(std::accumulate(parts.begin(), parts.end(), Ns{}, [](Ns sum, const LinePart& part) { return sum + part.value; }) ==
          summary.value);
  }
}

TEST_CASE("parts follow an edit above them and say when the line was edited") {
  const Line line(3000, 3100);
  const Hint moved = line.hint("import torch\n" + std::string(kText));
  CHECK(moved.label == "2.0+4.0 ms 61%");
  CHECK(moved.parts[1].definition->line == 4);
  std::string edited = kText;
  edited.insert(edited.find(" + self.b"), " * 2");
  CHECK(line.hint(edited).label == "≠ 2.0+4.0 ms 61%");
}
