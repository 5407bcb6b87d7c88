#include "server/features/hints/hot_lines.h"

#include <map>

#include "annotator/profile/loop.h"
#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;

namespace {

const HotLine* at(const std::vector<HotLine>& lines, std::uint32_t line) {
  const auto found = std::ranges::find(lines, line, &HotLine::line);
  return found == lines.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("hot lines are the lines with a time, the costliest first, with the words of their hints") {
  const test::TemporaryFolder folder;
  const FileView view = test::open(test::small_profile(folder.path() / "model.py"));
  const auto lines = hot_lines(view, {});
  std::map<std::uint32_t, std::string> hints;
  for (const Hint& hint : inlay_hints(view, {}, {})) hints[hint.at.line] = hint.label;
  REQUIRE(lines.size() == hints.size());
  for (const HotLine& line : lines) CHECK(hints[line.line] == line.label);
  CHECK(std::ranges::is_sorted(lines, std::ranges::greater{}, &HotLine::share));
  const HotLine* layers = at(lines, 5);
  REQUIRE(layers != nullptr);
  CHECK((layers->value == Ns{6'000'000} && layers->column == 8));
  CHECK(layers->text == "self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])");
  CHECK((layers->of_module && !layers->sums_up));
  CHECK((at(lines, 15)->of_stage && !at(lines, 16)->of_stage));
  CHECK(hot_lines(view, {.min_share = 0.5}).size() < lines.size());
  CHECK(hot_lines(features::view("x.py", source::Tree::parse("x = 1\n"), nullptr, nullptr), {}).empty());
}

TEST_CASE("what only sums up other lines is told apart: a class, and a layer that is code of the workspace") {
  const test::TemporaryFolder folder;
  auto profile = std::make_shared<profile::Profile>(*test::small_profile(folder.path() / "model.py"));
  CHECK(at(hot_lines(test::open(profile), {}), 2)->sums_up);
  CHECK_FALSE(at(hot_lines(test::open(profile), {}), 6)->sums_up);
  profile->modules[4].class_site = test::site(2, 0, 21, "<module>");  // the norm is of a class of this file
  CHECK(at(hot_lines(test::open(profile), {}), 6)->sums_up);
  profile->files.push_back({.path = "/lib/norm.py", .workspace = false});
  profile->modules[4].class_site->file = {1};
  CHECK_FALSE(at(hot_lines(test::open(profile), {}), 6)->sums_up);
}

TEST_CASE("a constructor in a helper sums up the definitions that use it") {
  const test::TemporaryFolder folder;
  auto profile = std::make_shared<profile::Profile>(*test::small_profile(folder.path() / "model.py"));
  profile->modules[4].constructed = test::site(4, 8, 26, "Net.__init__");
  REQUIRE(at(hot_lines(test::open(profile), {}), 4) != nullptr);
  CHECK(at(hot_lines(test::open(profile), {}), 4)->sums_up);
  CHECK_FALSE(at(hot_lines(test::open(profile), {}), 6)->sums_up);
  profile->modules[4].attached.reset();
  CHECK_FALSE(at(hot_lines(test::open(profile), {}), 4)->sums_up);
}

TEST_CASE("a statement that calls a function with known statements sums them up, one that calls another does not") {
  constexpr const char* kText =
      "def fit():\n"
      "    for x in y:\n"
      "        refit()\n"
      "def run():\n"
      "    fit()\n"
      "    check()\n"
      "def main():\n"
      "    run()\n";
  const test::TemporaryFolder folder;
  auto profile = std::make_shared<profile::Profile>(*test::small_profile(folder.path() / "model.py"));
  std::ofstream(folder.path() / "model.py") << kText;
  profile->modules.clear(), profile->call_sites.clear(), profile->lines.clear(), profile->stage_sites.clear();
  const auto statement = [](std::uint32_t line, const char* function, int ms) {
    return profile::LoopStatement{.site = {.file = {0}, .line = line, .end_line = line, .column = 0, .function = function},
                                  .kind = "statement",
                                  .calls = 1,
                                  .timed = Ns{ms * 1'000'000},
                                  .total = Ns{ms * 1'000'000},
                                  .in_updates = 1};
  };
  profile->loop = std::make_shared<profile::Loop>(
      profile::Loop{.updates = 1,
                    .made = 1,
                    .watched = Ns{10'000'000},
                    .statements = {statement(2, "fit", 9), statement(4, "run", 8), statement(5, "run", 1), statement(7, "main", 10)}});
  const auto lines = hot_lines(test::open(profile, kText), {});
  REQUIRE(lines.size() == 4);
  CHECK_FALSE(at(lines, 2)->sums_up);  // refit is another function
  CHECK(at(lines, 4)->sums_up);
  CHECK_FALSE(at(lines, 5)->sums_up);
  CHECK(at(lines, 7)->sums_up);
}
