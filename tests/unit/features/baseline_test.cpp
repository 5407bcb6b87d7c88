#include "server/features/words/baseline.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;
using test::cpu;

namespace {

// The same text, measured twice: `norm` takes 2 ms now and took `before` then, in each of two steps.
struct Compared {
  test::TemporaryFolder folder;
  std::shared_ptr<const profile::Profile> now = test::small_profile(folder.path() / "model.py");
  std::shared_ptr<profile::Profile> then = std::make_shared<profile::Profile>(*now);

  explicit Compared(std::int64_t first, std::int64_t second) {
    then->id = "before";
    then->modules[4].forward = {cpu(first), cpu(second)};
    then->modules[4].backward = {cpu(0), cpu(0)};
  }
  std::shared_ptr<const Baseline> baseline(std::string text = test::kModelText) const {
    return std::make_shared<const Baseline>(test::open(then, std::move(text)), line_judge(then, now));
  }
  std::vector<Hint> hints(std::string text = test::kModelText) const {
    Options options{.markdown = false};
    options.baseline = baseline(text);
    return inlay_hints(test::open(now, text), {}, options);
  }
};

const Hint& at(const std::vector<Hint>& hints, std::uint32_t line) {
  const auto hint = std::ranges::find(hints, line, [](const Hint& each) { return each.at.line; });
  REQUIRE(hint != hints.end());
  return *hint;
}

}  // namespace

TEST_CASE("a line that became slower than the baseline says by how much, and its tooltip from what") {
  const auto hints = Compared(900, 900).hints();
  CHECK(at(hints, 6).label == "2.00 ms ▲1.1");
  CHECK(at(hints, 6).parts.empty());
  CHECK_THAT(at(hints, 6).tooltip, Catch::Contains("▲ 1.10 ms (122.2 %): 900 µs -> 2.00 ms, noise ±127 µs, against before."));
}

TEST_CASE("a line that became faster says so, others keep their words") {
  const Compared compared(2500, 2500);
  const auto hints = compared.hints(), alone = inlay_hints(test::open(compared.now), {}, {.markdown = false});
  CHECK(at(hints, 6).label == "2.00 ms ▼0.5");
  CHECK(at(hints, 5).label == at(alone, 5).label);
  CHECK(hints.size() == alone.size());
}

TEST_CASE("a difference within the noise of the steps or between runs is none") {
  CHECK(at(Compared(2000, 2000).hints(), 6).label == "2.00 ms 18%");
  CHECK(at(Compared(1000, 2600).hints(), 6).label == "2.00 ms 18%");
  CHECK(at(Compared(1999, 1999).hints(), 6).label == "2.00 ms 18%");  // a microsecond is the clock
  CHECK(at(Compared(1900, 1900).hints(), 6).label == "2.00 ms 18%");  // so does another process of the same script
}

TEST_CASE("lines are compared where they stand now; an edited one was not measured as it is") {
  const Compared compared(900, 900);
  CHECK(at(compared.hints("# above\n" + std::string(test::kModelText)), 7).label == "2.00 ms ▲1.1");
  std::string edited = test::kModelText;
  edited.replace(edited.find("LayerNorm(4)"), 12, "LayerNorm(8)");
  CHECK(at(compared.hints(edited), 6).label == "≠ 2.00 ms 18%");
}

TEST_CASE("a profile is not compared with itself, nor with one of a device") {
  Compared compared(900, 900);
  compared.then->id = compared.now->id;
  CHECK(at(compared.hints(), 6).label == "2.00 ms 18%");
  compared.then->id = "gpu";
  compared.then->steps[0].device = compared.then->steps[1].device = Ns{1'000'000};
  CHECK(compared.then->has_device());
  CHECK(at(compared.hints(), 6).label == "2.00 ms 18%");
}

TEST_CASE("a hover ends with what changed, and the lens says which profile is shown") {
  const Compared compared(900, 900);
  Options options{.markdown = false, .label = "older profile · against 2026"};
  options.baseline = compared.baseline();
  const FileView view = test::open(compared.now);
  const auto found = hover(view, {6, 0}, options);
  REQUIRE(found);
  CHECK_THAT(found->contents, Catch::EndsWith("against before."));
  CHECK_THAT(code_lenses(view, options).front().title, Catch::Contains("▸ Profile again · older profile · against 2026 · Net "));
}

TEST_CASE("a line that makes a layer names it") {
  const Compared compared(900, 900);
  const auto found = deltas(test::open(compared.now), *compared.baseline(), {});
  const auto made = std::ranges::find_if(found, &Delta::of_module);
  REQUIRE(made != found.end());
  CHECK(made->subject == "norm");
  CHECK(made->line == 6);
}

TEST_CASE("a line with a block can be compared with the baseline in the timeline, where the client shows two") {
  const Compared compared(900, 900);
  const auto offers = [&](std::uint32_t line, Options options) {
    return std::ranges::any_of(code_actions(test::open(compared.now), {line, line + 1}, options),
                               [](const Action& each) { return each.title == "Compare with baseline" && each.compare && each.at_place; });
  };
  Options options{.compares = true};
  CHECK_FALSE(offers(6, options));
  options.baseline = compared.baseline();
  CHECK(offers(6, options));
  CHECK_FALSE(offers(4, options));  // nothing was measured there
  options.compares = false;
  CHECK_FALSE(offers(6, options));
}
