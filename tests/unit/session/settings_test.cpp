#include "server/session/client/settings.h"

#include "tests/unit/catch.h"

using namespace hotlens::session;
using hotlens::protocol::Json;

TEST_CASE("nested, dotted and wrapped settings are the same") {
  const Json nested = {{"python", "/py"},
                       {"hints", {{"minPercent", 2.5}, {"longLine", 88}, {"place", "above"}, {"unit", "memory"}}},
                       {"profile", {{"args", {"--x", "1"}}, {"steps", 7}, {"rank", 1}}}};
  const Json dotted = {{"hotlens.python", "/py"},
                       {"hints.minPercent", 2.5},
                       {"hints.longLine", 88},
                       {"hints.place", "above"},
                       {"hotlens.hints.unit", "memory"},
                       {"hotlens.profile.args", {"--x", "1"}},
                       {"profile.steps", 7},
                       {"profile.rank", 1}};
  const SettingsRead read = read_settings(nested, {});
  CHECK(read.complaints.empty());
  CHECK((read.settings.python == "/py" && read.settings.hints_min_percent == 2.5 && read.settings.hints_long_line == 88 &&
         read.settings.hints_place == HintPlace::above && read.settings.hints_unit == hotlens::features::HintUnit::memory &&
         read.settings.steps == 7 && read.settings.rank == 1));
  CHECK(read.settings.args == std::vector<std::string>{"--x", "1"});
  CHECK(read_settings(dotted, {}).settings == read.settings);
  CHECK(read_settings({{"hotlens", nested}}, {}).settings == read.settings);
}

TEST_CASE("absent and null values keep what was there") {
  const Settings base{.python = "/py", .hints_enabled = false, .script = "train.py", .warmup = 2};
  for (const Json& json :
       {Json(), Json::object(), Json(5), Json{{"python", nullptr}, {"hints", {{"enabled", nullptr}}}}, Json{{"other", 1}}}) {
    CHECK(read_settings(json, base).settings == base);
    CHECK(read_settings(json, base).complaints.empty());
  }
}

TEST_CASE("each value of a wrong type is named, the others count") {
  const Json json = {{"python", 5},
                     {"hints", {{"enabled", "yes"}, {"minPercent", 101}, {"longLine", -1}, {"place", "left"}, {"unit", "bytes"}}},
                     {"profile", {{"args", {1}}, {"steps", 0}, {"warmup", 1.5}, {"script", "train.py"}, {"trace", 1}, {"rank", -1}}}};
  const SettingsRead read = read_settings(json, {});
  CHECK(read.settings == Settings{.script = "train.py"});
  REQUIRE(read.complaints.size() == 11);
  for (const std::string key : {"python", "hints.enabled", "hints.minPercent", "hints.longLine", "hints.place", "hints.unit",
                                "profile.args", "profile.steps", "profile.warmup", "profile.trace", "profile.rank"}) {
    CHECK(std::ranges::count_if(read.complaints, [&](const std::string& text) { return text.contains("hotlens." + key + " "); }) == 1);
  }
}
