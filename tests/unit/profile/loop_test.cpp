#include "annotator/profile/loop.h"

#include "annotator/profile/bundle/bundle.h"
#include "annotator/report/loop_text.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

// What the recorder wrote about loop/train.py.
Loop recorded() {
  Result<Loop> loop = read_loop(std::filesystem::path(HOTLENS_SOURCE_DIR) / "tests/unit/profile/loop", {.loop = "loop.json"}, 1);
  REQUIRE(loop);
  return std::move(*loop);
}

Json row(int line, std::int64_t total, int in_updates = 10, int first = 0, int last = 9, const char* function = "<module>") {
  return {{"loop", 0},
          {"function", function},
          {"file", 1},
          {"line", line},
          {"end_line", line},
          {"column", 4},
          {"kind", "statement"},
          {"calls", in_updates},
          {"total_ns", total},
          {"in_updates", in_updates},
          {"first_update", first},
          {"last_update", last},
          {"startup_calls", 1},
          {"startup_ns", 100}};
}

Json loop_json(Json statements) {
  return {{"schema", "hotlens.loop/1"}, {"updates", 10},          {"watched_ns", 1000},
          {"startup_ns", 500},          {"loops", Json::array()}, {"statements", statements}};
}

Result<Loop> read_back(const Json& json, Manifest manifest = {}) {
  const TemporaryFolder folder;
  write_text(folder.path() / "loop.json", json.dump());
  manifest.loop = "loop.json";
  return read_loop(folder.path(), manifest, 2);
}

}  // namespace

TEST_CASE("the statements of the function that holds the loop add up to what was watched") {
  const Loop loop = recorded();
  const std::vector<LoopFunction> all = functions(loop);
  REQUIRE(all.size() == 2);
  CHECK(all[0].function == "<module>");
  CHECK(all[1].function == "evaluate");
  CHECK(share(loop, all[0].total) == Approx(1).margin(0.001));
  CHECK(all[1].total < all[0].total);
}

TEST_CASE("an update takes as long as its device, where the host runs ahead of that") {
  const Json json = loop_json(Json::array({row(3, 900), row(4, 100)}));
  Manifest manifest;
  manifest.plain_steps = {Ns{900}, Ns{250}, Ns{250}};
  manifest.devices = {{"a processor", "cpu"}};
  CHECK(read_back(json, manifest)->behind == Ns{});  // another run of steps, on the same clock
  manifest.devices.push_back({"a GPU", "cuda"});
  const auto ahead = read_back(json, manifest);
  REQUIRE(ahead);
  CHECK(ahead->behind == Ns{1500});
  CHECK(mean_update(*ahead).step + mean_update(*ahead).rare == Ns{250});
  CHECK(share(*ahead, ahead->statements[0].total) == Approx(0.36));
  CHECK(plain_step(manifest, &*ahead) == Ns{250});
  manifest.plain_steps = {Ns{105}, Ns{105}, Ns{105}};
  CHECK(read_back(json, manifest)->behind == Ns{});  // steps differ by so much by chance
}

TEST_CASE("what came in two of 26 updates is rare, and a step without it is the rest of the loop") {
  const Loop loop = recorded();
  const auto evaluation = std::ranges::find_if(loop.statements, [](const LoopStatement& each) { return each.site.line == 29; });
  REQUIRE(evaluation != loop.statements.end());
  CHECK(is_rare(loop, *evaluation));
  CHECK(rhythm(*evaluation) == 12.0);
  CHECK(per_update(loop, evaluation->total) == Ns{23258383 / 26});
  CHECK(usual_share(loop) == Approx(1 - 23258383.0 / 89295289.0).margin(1e-9));
}

TEST_CASE("a rhythm is the distance between the first and the last, in steps of it") {
  const Result<Loop> loop = read_back(loop_json({row(3, 600), row(4, 400, 3, 1, 9)}));
  REQUIRE(loop);
  CHECK(rhythm(loop->statements[1]) == 4.0);
  CHECK(is_rare(*loop, loop->statements[1]));
  CHECK(!is_rare(*loop, loop->statements[0]));
  CHECK(usual_share(*loop) == Approx(0.6).margin(1e-9));
}

TEST_CASE("what is rare is so among all updates made, and each time is that of the calls that were timed") {
  Json often = row(4, 200, 6, 1, 16);
  often["timed_ns"] = 400;
  Json json = loop_json({row(3, 600), often});
  json["made"] = 16;
  const Result<Loop> loop = read_back(json);
  REQUIRE(loop);
  CHECK(loop->made == 16);
  CHECK(is_rare(*loop, loop->statements[1]));
  CHECK(rhythm(loop->statements[1]) == 3.0);
  CHECK(loop->statements[1].timed == Ns{400});
  CHECK(loop->statements[1].total == Ns{200});
  CHECK(loop->statements[0].timed == Ns{600});
  CHECK(time_when_it_comes(loop->statements[1]) == Ns{66});  // an older recording: of a call
}

TEST_CASE("what runs several times in an update has the time of all of them when it comes") {
  Json batches = row(4, 400, 2, 4, 9);
  batches["calls"] = 10;
  batches["in_watched"] = 2;
  const Result<Loop> loop = read_back(loop_json({row(3, 600), batches}));
  REQUIRE(loop);
  CHECK(time_when_it_comes(loop->statements[1]) == Ns{200});
  CHECK_FALSE(time_when_it_comes(LoopStatement{}));
}

TEST_CASE("how far the updates differ is read where three times do not fall") {
  const auto usual = [](Json times) {
    Json one = row(3, 600);
    one["usual_ns"] = std::move(times);
    return read_back(loop_json(Json::array({one})))->statements.front().usual;
  };
  REQUIRE(usual({40, 60, 90}));
  CHECK(usual({40, 60, 90})->p90 == Ns{90});
  for (const Json& odd : {Json(nullptr), Json{40, 60}, Json{90, 60, 40}, Json{-1, 60, 90}, Json{"40", 60, 90}}) CHECK_FALSE(usual(odd));
}

TEST_CASE("the function that only calls the one with the loop is not the one that is shown") {
  const Result<Loop> loop = read_back(loop_json(
      {row(20, 1000, 0, 0, 9, "<module>"), row(3, 595, 10, 0, 9, "main"), row(4, 400, 10, 0, 9, "main"), row(9, 400, 10, 0, 9, "step")}));
  REQUIRE(loop);
  const std::vector<LoopFunction> all = functions(*loop);
  REQUIRE(all.size() == 3);
  CHECK(all[0].function == "main");
  CHECK(all[1].function == "<module>");
  CHECK(all[2].function == "step");
}

TEST_CASE("work of a called function is not taken away twice") {
  const Result<Loop> loop = read_back(loop_json({row(3, 600), row(4, 400, 3, 1, 9), row(8, 390, 3, 1, 9, "evaluate")}));
  REQUIRE(loop);
  CHECK(usual_share(*loop) == Approx(0.6).margin(1e-9));
}

TEST_CASE("an update is a step and its part of what comes now and then, to the nanosecond") {
  const Result<Loop> loop = read_back(loop_json({row(3, 597), row(4, 403, 3, 1, 9)}));
  REQUIRE(loop);
  const Update update = mean_update(*loop);
  CHECK(update.rare == Ns{40});
  CHECK(update.step + update.rare == per_update(*loop, loop->watched));
  CHECK(spelled(update) == "60 ns/step + 40 ns rare work");
  CHECK(spelled(update, " (70.0 ns profiled)") == "60 ns/step (70.0 ns profiled) + 40 ns rare work");
  CHECK(step_time(update) == Ns{60});
  CHECK(spelled({.step = Ns{96}, .rare = Ns{4}}) == "100 ns/step");
  CHECK(step_time({.step = Ns{96}, .rare = Ns{4}}) == Ns{100});
}

TEST_CASE("other programs are told of where they left the script no processor") {
  const auto others = [](std::int64_t ours, std::int64_t theirs) {
    const Result<Loop> loop = read_back([&] {
      Json json = loop_json(Json::array({row(3, 600)}));
      json["processors"] = {{"count", 2}, {"wall_ns", 500}, {"ours_ns", ours}, {"others_ns", theirs}};
      return json;
    }());
    REQUIRE(loop);
    return share_of_others(*loop);
  };
  CHECK(others(500, 400) == Approx(0.4));
  CHECK(others(500, 399) == std::nullopt);  // a processor was free
  CHECK(others(900, 100) == Approx(0.1));
  CHECK(others(950, 99) == std::nullopt);  // it is busy by itself
  CHECK(others(0, 1500) == Approx(1.0));   // ticks are coarse
  CHECK(share_of_others(*read_back(loop_json(Json::array({row(3, 600)})))) == std::nullopt);
}

TEST_CASE("a slow first update that was left out is told") {
  Json json = loop_json(Json::array({row(3, 600)}));
  const auto said = [&](const Json& slow) {
    json["slow_first_ns"] = slow;
    const Result<Loop> loop = read_back(json);
    REQUIRE(loop);
    Profile profile;
    profile.files.resize(2);
    profile.loop = std::make_shared<const Loop>(*loop);
    return report::loop_text(profile, format::style(false));
  };
  const auto tells = Catch::Contains("left out: the first update watched, 814 ms, with no work that those behind it did not have");
  CHECK_THAT(said(814'000'000), tells);
  CHECK_THAT(said("soon"), !Catch::Contains("left out"));
}

TEST_CASE("processors that cannot be are not known") {
  for (const auto& [count, wall] : {std::pair{0, 500}, {-2, 500}, {2, 0}, {2, -1}}) {
    Json json = loop_json(Json::array({row(3, 600)}));
    json["processors"] = {{"count", count}, {"wall_ns", wall}, {"ours_ns", 1}, {"others_ns", 1000}};
    const Result<Loop> loop = read_back(json);
    REQUIRE(loop);
    CHECK_FALSE(loop->processors);
  }
}

TEST_CASE("of a package's loop what it calls now and then is rare, and counted once where one of them holds another") {
  const Result<Loop> loop = read_back(loop_json(
      {row(20, 1000), row(3, 300, 10, 0, 9, "compute_loss"), row(8, 400, 3, 1, 9, "evaluate"), row(9, 390, 3, 1, 9, "compute_metrics")}));
  REQUIRE(loop);
  CHECK(loop->rare == Ns{400});
}

TEST_CASE("of a package's loop updates with rare work may tell more of it than the script's statements") {
  const auto rare = [](const Json& told) {
    Json json = loop_json({row(3, 1000), row(5, 60, 2, 1, 9, "Cart.step")});
    json["rare_ns"] = told;
    const Result<Loop> loop = read_back(json);
    REQUIRE(loop);
    return loop->rare;
  };
  CHECK(rare(700) == Ns{700});
  CHECK(rare(40) == Ns{60});
  CHECK(rare(1001) == Ns{60});
  CHECK(rare("most") == Ns{60});
}

TEST_CASE("statements whose numbers cannot be are left out, and a loop without an update is refused") {
  Json elsewhere = row(3, 10), negative = row(3, -1), more = row(3, 1001), text = row(3, 1), updates = loop_json(Json::array({row(3, 1)}));
  elsewhere["file"] = 2;
  text["line"] = "three";
  const Result<Loop> loop = read_back(loop_json({elsewhere, negative, more, text, 7, nullptr, row(5, 1000)}));
  REQUIRE(loop);
  REQUIRE(loop->statements.size() == 1);
  CHECK(loop->statements[0].site.line == 5);
  updates["updates"] = 0;
  CHECK(!read_back(updates));
  updates = loop_json(Json::array());
  updates["schema"] = "hotlens.loop/2";
  CHECK(read_back(updates).error().code == ErrorCode::unsupported);
}

TEST_CASE("the report quotes the loop's lines, says how often the rare ones come and leaves nothing out") {
  Profile profile;
  const std::filesystem::path script = std::filesystem::path(HOTLENS_SOURCE_DIR) / "tests/unit/profile/loop/train.py";
  profile.files.push_back({.path = script, .copy = script, .sha256 = "", .workspace = true});
  profile.folder = script.parent_path();
  profile.loop = std::make_shared<const Loop>(recorded());
  const std::string text = report::loop_text(profile, format::style(false));
  CAPTURE(text);
  CHECK(text.find("3.43 ms an update (2.54 ms/step + 895 µs rare work), mean of 26") != std::string::npos);
  CHECK(text.find("loss.backward()") != std::string::npos);
  CHECK(text.find("evaluate()                                      895 µs   26.0 %   every 12 updates, 11.6 ms each time") !=
        std::string::npos);
  CHECK(text.find("of it in evaluate") != std::string::npos);
  CHECK(text.find("Start-up: 4.71 s") != std::string::npos);
  double sum = 0;
  std::size_t at = text.find("mean of 26");
  for (const std::size_t end = text.find("  of it in"); at < end; at = text.find('\n', at) + 1) {
    const std::size_t percent = text.find(" %", at);
    if (percent < text.find('\n', at)) sum += std::stod(text.substr(percent - 5, 5));
  }
  CHECK(sum == Approx(100).margin(0.3));
}

TEST_CASE("work of the loop that did not come is named, a line behind the loop is not") {
  Profile profile;
  const std::filesystem::path script = std::filesystem::path(HOTLENS_SOURCE_DIR) / "tests/unit/profile/loop/train.py";
  profile.files.push_back({.path = script, .copy = script, .sha256 = "", .workspace = true});
  Loop loop = recorded();
  const Site site = functions(loop).front().statements.front()->site;
  for (const bool in_loop : {true, false}) {
    LoopStatement never{.site = site, .kind = "statement", .in_loop = in_loop};
    never.site.line = in_loop ? 0 : 1;
    loop.statements.push_back(never);
  }
  profile.loop = std::make_shared<const Loop>(std::move(loop));
  const std::string text = report::loop_text(profile, format::style(false));
  CAPTURE(text);
  CHECK(text.contains("not run in these updates: train.py:1;"));
}

TEST_CASE("a summary has the costliest lines of the loop, and what a package's loop calls") {
  Profile profile;
  profile.files.resize(2);
  profile.files[1].path = "/w/train.py";
  profile.loop = std::make_shared<const Loop>(*read_back(loop_json({row(3, 600), row(4, 395, 3, 1, 9), row(5, 5)})));
  std::string text = report::costliest_lines(profile);
  CHECK_THAT(text, Catch::StartsWith("  train.py:4 ") && Catch::Contains("every 4 updates") && !Catch::Contains("train.py:6"));
  profile.loop = std::make_shared<const Loop>(*read_back(loop_json({row(20, 1000), row(3, 300, 10, 0, 9, "compute_loss")})));
  text = report::costliest_lines(profile);
  CHECK_THAT(text, Catch::StartsWith("  train.py:21 ") && Catch::Contains("train.py:4 "));
  profile.loop = nullptr;
  CHECK(report::costliest_lines(profile).empty());
}

TEST_CASE("in a summary a line that only leads to a function gives way to the lines of that function") {
  Profile profile;
  const std::filesystem::path script = std::filesystem::path(HOTLENS_SOURCE_DIR) / "tests/unit/profile/loop/train.py";
  profile.files.resize(2);
  profile.files[1] = {.path = script, .copy = script, .sha256 = "", .workspace = true};
  profile.folder = script.parent_path();
  const auto summary = [&](std::int64_t inside) {
    profile.loop = std::make_shared<const Loop>(*read_back(loop_json({row(29, 700), row(31, 300), row(22, inside, 10, 0, 9, "evaluate")})));
    return report::costliest_lines(profile);
  };
  CHECK_THAT(summary(690), Catch::StartsWith("  train.py:23 ") && Catch::Contains("train.py:32 ") && !Catch::Contains("train.py:30 "));
  CHECK_THAT(summary(350), Catch::StartsWith("  train.py:30 ") && !Catch::Contains("train.py:23 "));
}

TEST_CASE("a call of a function is one of its own name") {
  CHECK(is_called_in("y = self.fit(x)", called_name("Trainer.fit")));
  CHECK(is_called_in("fit(x)", "fit"));
  CHECK_FALSE(is_called_in("outfit(x)", "fit"));
  CHECK_FALSE(is_called_in("re_fit(x); fit", "fit"));
}

TEST_CASE("calls with gradients on that no backward pass follows are told with their line, and what is none of a file is not") {
  Json json = loop_json(Json::array({row(3, 600)}));
  const Json good{{"file", 1}, {"line", 40}, {"function", "evaluate"}, {"model", "Net"}, {"bytes", 524'288}};
  const Json faults{{"file", 2}, {"line", -1}, {"bytes", 0}};
  Json list = Json::array({good});
  for (const auto& [key, value] : faults.items()) {
    list.push_back(good);
    list.back()[key] = value;
  }
  json["unused_graphs"] = list;
  const Result<Loop> loop = read_back(json);
  REQUIRE(loop);
  REQUIRE(loop->unused_graphs.size() == 1);
  CHECK(loop->unused_graphs[0].site.line == 40);
  CHECK(loop->unused_graphs[0].kept == Bytes{524'288});
  Profile profile;
  profile.files.resize(2);
  profile.files[1].path = "train.py";
  profile.loop = std::make_shared<const Loop>(*loop);
  CHECK_THAT(report::loop_text(profile, format::style(false)),
             Catch::Contains("train.py:41") &&
                 Catch::Contains("Net is called with gradients on and no backward pass follows: each call keeps 524 kB"));
  json["unused_graphs"] = "none";
  CHECK(read_back(json)->unused_graphs.empty());
}
