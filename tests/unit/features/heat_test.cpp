#include "server/features/hints/heat.h"

#include <map>

#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;

TEST_CASE("levels of heat change at a twentieth and at a fifth") {
  CHECK(heat_level(0.01) == 1);
  CHECK(heat_level(0.0499) == 1);
  CHECK(heat_level(0.05) == 2);
  CHECK(heat_level(0.1999) == 2);
  CHECK(heat_level(0.2) == 3);
  CHECK(heat_level(1) == 3);
}

TEST_CASE("every line with a time has a mark, none below the threshold, and their shares are those of the hints") {
  const test::TemporaryFolder folder;
  const FileView view = test::open(test::small_profile(folder.path() / "model.py"));
  HintMemory memory;
  const std::vector<Heat> marks = heat(view, 0.01, memory);
  std::map<std::uint32_t, double> shares;
  for (const Hint& hint : inlay_hints(view, {}, {})) shares[hint.at.line] = hint.share;
  REQUIRE(marks.size() == shares.size());
  for (const Heat& mark : marks) {
    CHECK(shares.at(mark.line) == mark.share);
    CHECK(mark.level == heat_level(mark.share));
  }
  CHECK(heat(view, 0.01, memory) == marks);  // from memory
  const std::vector<Heat> strong = heat(view, 0.2, memory);
  CHECK((!strong.empty() && strong.size() < marks.size()));
  CHECK(std::ranges::all_of(strong, [](const Heat& mark) { return mark.share >= 0.2; }));
  CHECK(heat(features::view("x.py", source::Tree::parse("x = 1\n"), nullptr, nullptr), 0, memory).empty());
}

TEST_CASE("a line whose time another line counts has no mark") {
  const test::TemporaryFolder folder;
  auto profile = std::make_shared<profile::Profile>(*test::small_profile(folder.path() / "model.py"));
  profile->stage_sites[1].wall.clear();
  profile->stage_sites[1].counted_at = 0;
  HintMemory memory;
  const FileView view = test::open(profile);
  const auto hints = inlay_hints(view, {}, {});
  CHECK(std::ranges::any_of(hints, [](const Hint& hint) { return hint.at.line == 16 && hint.label.starts_with("→"); }));
  CHECK(std::ranges::none_of(heat(view, 0, memory), [](const Heat& mark) { return mark.line == 16; }));
}
