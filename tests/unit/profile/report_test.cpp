#include "annotator/profile/report.h"

#include <sstream>

#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

Json report() {
  const TemporaryFolder folder;
  return Json::parse(report_json(*load(write_bundle(folder.path() / "b")).value()));
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("the JSON report has the shape that the contract names") {
  const Json json = report();
  CHECK(json["schema"] == "hotlens.report/1");
  CHECK(keys(json) ==
        std::vector<std::string>{"buckets", "modules", "profile", "schema", "stages", "steps", "totals", "verdict", "warnings"});
  CHECK(keys(json["profile"]) ==
        std::vector<std::string>{"devices", "id", "plain_step_ns", "profiled_step_ns", "source", "steps", "torch"});
  CHECK(keys(json["stages"][0]) == std::vector<std::string>{"cpu_ns", "device_ns", "name", "share", "wall_ns"});
  CHECK(keys(json["buckets"][0]) == std::vector<std::string>{"device_ns", "name", "wall_ns"});
  CHECK(keys(json["modules"][0]) == std::vector<std::string>{"backward", "calls", "class", "forward", "how", "memory", "path"});
  CHECK(keys(json["modules"][0]["forward"]) == std::vector<std::string>{"cpu_self_ns", "cpu_total_ns", "device_ns", "span_ns"});
  CHECK(keys(json["modules"][0]["memory"]) == std::vector<std::string>{"parameters_bytes"});
  CHECK(keys(json["totals"]) == std::vector<std::string>{"cpu_attributed_ns", "cpu_ns", "device_attributed_ns", "device_ns", "wall_ns"});
  CHECK(json["buckets"].size() == 13);
}

TEST_CASE("the report's buckets add up to its totals") {
  const Json json = report();
  std::int64_t wall = 0;
  for (const Json& bucket : json["buckets"]) wall += bucket["wall_ns"].get<std::int64_t>();
  CHECK(wall == json["totals"]["wall_ns"].get<std::int64_t>());
  CHECK(json["totals"]["cpu_attributed_ns"] == (180 + 30 + 30 + 5 + 100 + 5 + 150 + 5 + 15 - 5) * 1000);
}

TEST_CASE("the text report is for people, and hostile names cannot reach the terminal") {
  Profile profile;
  profile.source =
      "evil\x1b]0;title\x07 \xc2\x9b"
      "31m.py";
  profile.steps.push_back({.wall = Ns{1000000}});
  profile.modules.push_back({.path = "a\x1b[2J\nb", .class_name = "C"});
  profile.modules[0].forward = profile.modules[0].backward = {Times{.cpu_total = Ns{500000}}};
  const std::string plain = report_text(profile, false);
  for (const char c : plain) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(plain.find("\xc2\x9b") == std::string::npos);
  CHECK(plain.find("500 µs") != std::string::npos);
  CHECK(report_text(profile, true).find("\x1b[1m") != std::string::npos);
}

TEST_CASE("text and JSON survive names that are not UTF-8") {
  Profile profile;
  profile.source = "\xff\xfe.py";
  profile.steps.push_back({.wall = Ns{1}});
  CHECK(Json::parse(report_json(profile))["profile"]["source"] == "\xef\xbf\xbd\xef\xbf\xbd.py");
  CHECK_FALSE(report_text(profile, false).empty());
}

TEST_CASE("the event report has one line for every complete event of a step, in file order") {
  const TemporaryFolder folder;
  std::ostringstream out;
  REQUIRE(report_events(write_bundle(folder.path() / "b"), out).has_value());
  std::istringstream lines(out.str());
  std::vector<Json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  REQUIRE(events.size() == 2 * 14);
  for (std::size_t i = 0; i < events.size(); ++i) CHECK(events[i]["event"] == i);
  const auto expect = [&](std::size_t event, const Json& module, const char* stage, const char* direction) {
    CAPTURE(event);
    CHECK(events[event]["module"] == module);
    CHECK(events[event]["stage"] == stage);
    CHECK(events[event]["direction"] == direction);
  };
  expect(4, "a", "forward", "forward");  // aten::linear
  expect(6, "b", "forward", "forward");  // the second one
  expect(7, "MSELoss", "loss", "forward");
  expect(10, "a", "backward", "backward");  // MulBackward0
  expect(11, "a", "backward", "backward");  // AccumulateGrad
  expect(13, nullptr, "optimizer", "optimizer");
  CHECK(events[4]["how"] == "recorded");
  CHECK(events[13]["how"] == "none");
  CHECK(events[14]["step"] == 1);
}
