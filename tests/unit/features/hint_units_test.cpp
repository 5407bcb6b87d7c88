#include "server/features/words/hint_units.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;

namespace {

// 1,000,000 bytes at the peak: 300,000 of each linear layer, 100,000 of the norm, 50,000 of the model itself, 200,000 of the backward.
std::shared_ptr<profile::Profile> with_memory(const std::filesystem::path& file) {
  auto profile = std::make_shared<profile::Profile>(*test::small_profile(file));
  const auto hold = [&](std::size_t module, profile::Holding what, std::int64_t bytes) {
    profile->modules[module].memory.at_peak[static_cast<std::size_t>(what)] = Bytes{bytes};
  };
  hold(0, profile::Holding::activations, 50'000);
  hold(2, profile::Holding::weights, 300'000);
  hold(3, profile::Holding::activations, 300'000);
  hold(4, profile::Holding::gradients, 100'000);
  profile->at_peak.stages[static_cast<std::size_t>(profile::Stage::backward)] = {Bytes{200'000}, Bytes{50'000}};
  profile->at_peak.total = Bytes{1'000'000};
  profile->samples_per_step = 32;
  return profile;
}

struct Opened {
  test::TemporaryFolder folder;
  std::shared_ptr<const profile::Profile> profile = with_memory(folder.path() / "model.py");

  std::string at(std::uint32_t line, const Options& options, const std::string& text = test::kModelText) const {
    const auto hints = inlay_hints(test::open(profile, text), {}, options);
    const auto found = std::ranges::find(hints, line, [](const Hint& hint) { return hint.at.line; });
    return found == hints.end() ? "" : found->label;
  }
};

}  // namespace

TEST_CASE("a hint in shares has no time") {
  const Opened opened;
  const Options options{.unit = HintUnit::share};
  CHECK(opened.at(5, options) == "55% ×2");
  CHECK(opened.at(16, options) == "18%");
  CHECK(opened.at(16, {.min_share = 0.2, .unit = HintUnit::share}).empty());
}

TEST_CASE("a hint in memory is what the line's modules, or its stage, hold at the peak") {
  const Opened opened;
  const Options options{.unit = HintUnit::memory};
  CHECK(opened.at(2, options) == "750 kB 75%");
  CHECK(opened.at(5, options) == "600 kB 60%");
  CHECK(opened.at(6, options) == "100 kB 10%");
  CHECK(opened.at(10, options) == "600 kB 60%");
  CHECK(opened.at(15, options) == "250 kB 25%");
  CHECK(opened.at(16, options).empty());  // the update holds nothing
  CHECK(opened.at(6, {.min_share = 0.11, .unit = HintUnit::memory}).empty());
  auto unknown = std::make_shared<profile::Profile>(*opened.profile);
  unknown->at_peak = {};
  CHECK(inlay_hints(test::open(unknown), {}, options).empty());
}

TEST_CASE("a hint in throughput is what the line alone would allow") {
  const Opened opened;
  const Options options{.unit = HintUnit::throughput};
  CHECK(opened.at(15, options) == "6400/s");   // 32 samples in 5 ms
  CHECK(opened.at(16, options) == "16000/s");  // in 2 ms
  auto slow = std::make_shared<profile::Profile>(*opened.profile);
  slow->samples_per_step = 1;
  slow->stages[0].wall = slow->stage_sites[0].wall = {Ns{2'400'000'000}, Ns{2'400'000'000}};
  const auto hints = inlay_hints(test::open(slow), {15, 16}, options);
  REQUIRE(hints.size() == 1);
  CHECK(hints[0].label == "0.42/s");
  slow->samples_per_step.reset();
  CHECK(inlay_hints(test::open(slow), {}, options).empty());
}

TEST_CASE("an edited line is marked in every unit, and what was measured of it stays in the tooltip") {
  const Opened opened;
  std::string text = test::kModelText;
  text.replace(text.find("LayerNorm(4)"), 12, "LayerNorm(8)");
  for (const HintUnit unit : {HintUnit::share, HintUnit::memory, HintUnit::throughput}) {
    INFO(name(unit));
    CHECK(opened.at(6, {.unit = unit}, text).starts_with("≠ "));
    const auto hints = inlay_hints(test::open(opened.profile), {6, 7}, {.unit = unit});
    REQUIRE(hints.size() == 1);
    CHECK(hints[0].tooltip.contains("2.00 ms"));
  }
}

TEST_CASE("units have names, and follow each other in a circle") {
  HintUnit unit = HintUnit::time;
  for (const std::string_view next : {"share", "memory", "throughput", "time"}) {
    unit = after(unit);
    CHECK(name(unit) == next);
    CHECK(unit_named(next) == unit);
  }
  CHECK_FALSE(unit_named("bytes"));
}
