// Lines of a loop that was watched without a profiler.
#include <algorithm>

#include "annotator/profile/loop.h"
#include "server/features/features.h"
#include "server/features/words/step_words.h"
#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;
using test::label_at;
using test::Opened;

namespace {

// Every twelfth update line 13's function evaluates for 363 ms; backward takes 4 ms by the clock; line 0 imports for 8 s.
std::shared_ptr<profile::Profile> with_loop(const profile::Profile& of) {
  auto profile = std::make_shared<profile::Profile>(of);
  profile::Loop loop{.updates = 24, .made = 24, .watched = Ns{24'000'000 * 48}, .startup = Ns{10'000'000'000}, .statements = {}};
  const auto at = [&](std::uint32_t line, std::int64_t total, std::int64_t updates, std::int64_t startup) {
    loop.statements.push_back({.site = {.file = {0}, .line = line, .end_line = line, .column = 8, .end_column = {}, .function = "train"},
                               .kind = "statement",
                               .calls = updates,
                               .timed = Ns{total},
                               .total = Ns{total},
                               .in_updates = updates,
                               .first_update = updates > 0 ? 0 : -1,
                               .last_update = updates > 0 ? 12 : -1,
                               .startup_calls = 1,
                               .startup = Ns{startup}});
  };
  at(16, 24'000'000 * 40, 2, 0);
  at(15, 24'000'000 * 4, 24, 0);
  at(14, 24'000'000 * 4, 24, 0);
  at(0, 0, 0, 8'000'000'000);
  loop.statements.back().site.function = "<module>";
  loop.rare = rare_time(loop);
  profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
  return profile;
}

}  // namespace

TEST_CASE("where the loop was watched its lines show what they cost an update, and all shares are of an update") {
  const Opened opened;
  const FileView view = test::open(with_loop(*opened.profile));
  const auto hints = inlay_hints(view, {}, {});
  CHECK(label_at(hints, 16) == "40.0 ms 83%");
  CHECK(label_at(hints, 15) == "4.00 ms 8%");
  CHECK(label_at(hints, 14) == "4.00 ms 8%");
  CHECK(label_at(hints, 0) == "start-up 8.00 s");
  CHECK(label_at(hints, 2) == "8.00 ms 12%");  // of a step that is a sixth of an update
  const auto rare = hover(view, {16, 10}, {.markdown = false});
  REQUIRE(rare);
  CHECK_THAT(rare->contents, Catch::StartsWith("optimizer — 40.0 ms an update, 83% of the loop") &&
                                 Catch::Contains("480 ms each time, every 12 updates, in 2 of 24, timed without the profiler") &&
                                 Catch::Contains("in the profiled step, 11.0 ms"));
  const auto model = hover(view, {2, 6}, {.markdown = false});
  REQUIRE(model);
  CHECK_THAT(model->contents, Catch::Contains("12% of an update (73% of the profiled step)"));
  const auto import = hover(view, {0, 0}, {.markdown = false});
  REQUIRE(import);
  CHECK_THAT(import->contents, Catch::Contains("8.00 s of the start-up"));
}

TEST_CASE("of work that came once the hover says of how many updates its mean is") {
  const Opened opened;
  const auto profile = with_loop(*opened.profile);
  profile::Loop loop = *profile->loop;
  profile::LoopStatement& once = loop.statements.front();
  once.in_updates = once.in_watched = once.calls = 1;
  once.timed = Ns{16'000'000 * 40};  // and it counts for one of 16 updates
  profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
  const auto said = hover(test::open(profile), {16, 10}, {.markdown = false});
  CHECK_THAT(said->contents, Catch::StartsWith("optimizer — 40.0 ms an update") && Catch::Contains("640 ms in 1 of 16 updates"));
}

TEST_CASE("a clock says how far the updates differ, and a label only where their mean is rough") {
  const Opened opened;
  const auto noisy = [&](std::int64_t updates, Ns p10, Ns p90) {
    const auto profile = with_loop(*opened.profile);
    profile::Loop loop = *profile->loop;
    loop.statements[1].in_watched = updates;
    loop.statements[1].usual = profile::Spread{.p10 = p10, .median = Ns{4'000'000}, .p90 = p90};
    profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
    return test::open(profile);
  };
  const auto said = [](const FileView& view) { return hover(view, {15, 10}, {.markdown = false})->contents; };
  const FileView steady = noisy(24, Ns{3'800'000}, Ns{4'500'000});
  CHECK(label_at(inlay_hints(steady, {}, {}), 15) == "4.00 ms 8%");
  CHECK_THAT(said(steady), Catch::Contains("mean of 24 updates, timed without the profiler") && !Catch::Contains("over 5 steps"));
  const FileView many = noisy(24, Ns{1'000'000}, Ns{9'000'000});
  CHECK(label_at(inlay_hints(many, {}, {}), 15) == "4.00 ms 8%");
  CHECK_THAT(said(many), Catch::Contains("mean of 24 updates, mostly 1.00 ms to 9.00 ms, timed without the profiler"));
  CHECK(label_at(inlay_hints(noisy(4, Ns{1'000'000}, Ns{9'000'000}), {}, {}), 15) == "≈ 4.0 ms 8%");
}

TEST_CASE("the line of a loop does not say how often the next item was asked for") {
  const Opened opened;
  CHECK(label_at(inlay_hints(test::open(opened.profile), {}, {}), 10) == "6.20 ms 56% ×2");
  for (const char* kind : {"for", "while", "loop", "statement"}) {
    const auto profile = with_loop(*opened.profile);
    profile::Loop loop = *profile->loop;
    loop.statements.front().site.line = loop.statements.front().site.end_line = 10;
    loop.statements.front().kind = kind;
    profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
    CHECK(label_at(inlay_hints(test::open(profile), {}, {}), 10) == (kind == std::string("statement") ? "40.0 ms 83% ×2" : "40.0 ms 83%"));
  }
}

TEST_CASE("a statement of the loop that also makes layers shows what it takes, where that is more than what they take") {
  const Opened opened;
  const auto label = [&](std::int64_t total) {
    const auto profile = with_loop(*opened.profile);
    profile::Loop loop = *profile->loop;
    loop.statements.front().site.line = loop.statements.front().site.end_line = 6;  // where a layer is made
    loop.statements.front().total = Ns{total};
    profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
    return label_at(inlay_hints(test::open(profile), {}, {}), 6);
  };
  CHECK(label(24'000'000 * 40) == "40.0 ms 83%");
  CHECK(label(24'000 * 40) == "2.00 ms 3%");
}

TEST_CASE("where most of an update is rare work its line is named, or that a package does it inside the call that trains") {
  const Opened opened;
  const auto profile = with_loop(*opened.profile);
  CHECK_THAT(describe_step(*profile), Catch::Contains("83% in ") && !Catch::Contains("is rare work"));
  profile::Loop loop = *profile->loop;
  loop.statements.resize(1);
  loop.statements.front().in_updates = loop.updates;
  loop.statements.front().total = loop.watched;
  loop.rare = Ns{loop.watched.count() * 7 / 10};
  profile->loop = std::make_shared<const profile::Loop>(std::move(loop));
  CHECK_THAT(describe_step(*profile), Catch::Contains("70% is rare work") && !Catch::Contains("% in "));
}

TEST_CASE("beside a device the lines of the loop have their clocks, too, and layers are shares of a step without the profiler") {
  const Opened opened;
  auto profile = with_loop(*opened.profile);
  for (profile::Step& step : profile->steps) step.device = Ns{7'000'000};
  for (profile::Module& module : profile->modules) {
    for (profile::Times& times : module.forward) times.device = times.cpu_total;
    for (profile::Times& times : module.backward) times.device = times.cpu_total;
  }
  const FileView view = test::open(profile);
  const auto hints = inlay_hints(view, {}, {});
  CHECK(label_at(hints, 16) == "40.0 ms 83%");
  CHECK(label_at(hints, 15) == "4.00 ms 8%");
  CHECK(label_at(hints, 14) == "4.00 ms 8%");
  CHECK(label_at(hints, 2) == "8.00 ms 17%");  // of 48 ms an update
  const auto model = hover(view, {2, 6}, {.markdown = false});
  REQUIRE(model);
  CHECK_THAT(model->contents, Catch::Contains("8.00 ms of the device, 17% of an update (73% of the profiled step)"));
}
