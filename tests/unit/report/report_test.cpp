#include "annotator/profile/build/load.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::report;
using namespace hotlens::profile;

namespace {

Json report_of() {
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
  const Json json = report_of();
  CHECK(json["schema"] == "hotlens.report/1");
  CHECK(keys(json) == std::vector<std::string>{"buckets", "critical_parts", "critical_path", "findings", "kernels", "modules", "profile",
                                               "schema", "spent", "stages", "steps", "totals", "verdict", "warnings"});
  CHECK(keys(json["profile"]) ==
        std::vector<std::string>{"devices", "id", "plain_step_ns", "profiled_step_ns", "shown_step", "source", "steps", "torch"});
  CHECK(keys(json["stages"][0]) ==
        std::vector<std::string>{"cpu_ns", "device_ns", "name", "p10_ns", "p90_ns", "share", "waiting_ns", "wall_ns"});
  CHECK(keys(json["buckets"][0]) == std::vector<std::string>{"device_ns", "name", "wall_ns"});
  CHECK(keys(json["modules"][0]) ==
        std::vector<std::string>{"backward", "calls", "class", "forward", "how", "kernels", "memory", "path", "verdict"});
  CHECK(keys(json["modules"][0]["forward"]) ==
        std::vector<std::string>{"cpu_self_ns", "cpu_total_ns", "device_ns", "p10_ns", "p90_ns", "span_ns", "waiting_ns"});
  CHECK(keys(json["modules"][0]["memory"]) == std::vector<std::string>{"parameters_bytes"});
  CHECK(keys(json["totals"]) ==
        std::vector<std::string>{"cpu_attributed_ns", "cpu_ns", "device_attributed_ns", "device_ns", "p10_ns", "p90_ns", "wall_ns"});
  CHECK(json["buckets"].size() == attribution::kBuckets);
}

TEST_CASE("the report's buckets add up to its totals") {
  const Json json = report_of();
  std::int64_t wall = 0;
  for (const Json& bucket : json["buckets"]) wall += bucket["wall_ns"].get<std::int64_t>();
  CHECK(wall == json["totals"]["wall_ns"].get<std::int64_t>());
  CHECK(json["totals"]["cpu_attributed_ns"] == (180 + 30 + 30 + 5 + 100 + 5 + 150 + 5 + 15 - 5) * 1000);
}

TEST_CASE("the stages of the text report leave out nothing of the step") {
  const TemporaryFolder folder;
  const std::string text = report_text(*load(write_bundle(folder.path() / "b")).value());
  const std::string stages = text.substr(text.find("Stages"), text.find("Where the time") - text.find("Stages"));
  CHECK(stages.find("\n  other ") != std::string::npos);
  CHECK(text.find("Longest operators, shares of ") != std::string::npos);
}

TEST_CASE("the text report says how much of the kernels' time is of a known kind, where some is not") {
  profile::Profile profile;
  profile.steps.push_back({.wall = Ns{1000}});
  profile.kernels = {{"ampere_sgemm_128x64_tn", kernels::kernel_name("ampere_sgemm_128x64_tn")}, {"zqx", kernels::kernel_name("zqx")}};
  profile.kernel_times = {{.kernel = profile::KernelId{0}, .calls = 1, .time = Ns{750}}};
  CHECK(report_text(profile).find("of a known kind") == std::string::npos);
  profile.kernel_times.push_back({.kernel = profile::KernelId{1}, .calls = 1, .time = Ns{250}});
  CHECK(report_text(profile).find("for all, 75.0 % of a known kind") != std::string::npos);
}

TEST_CASE("the text report is for people, and hostile names cannot reach the terminal") {
  profile::Profile profile;
  profile.source =
      "evil\x1b]0;title\x07 \xc2\x9b"
      "31m.py";
  profile.steps.push_back({.wall = Ns{1000000}});
  profile.modules.push_back({.path = "a\x1b[2J\nb", .class_name = "C"});
  profile.modules[0].forward = profile.modules[0].backward = {profile::Times{.cpu_total = Ns{500000}}};
  const std::string plain = report_text(profile);
  for (const char c : plain) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(plain.find("\xc2\x9b") == std::string::npos);
  CHECK(plain.find("500 µs") != std::string::npos);
  CHECK(report_text(profile, {.color = true}).find("\x1b[1m") != std::string::npos);
}

TEST_CASE("the critical path and the operators of the report add up") {
  const Json json = report_of();
  std::int64_t path = 0;
  for (const auto& [cause, time] : json["critical_path"].items()) path += time.get<std::int64_t>();
  CHECK(path == json["totals"]["wall_ns"].get<std::int64_t>());
  CHECK(json["critical_path"]["data_ns"] == 100'000);
  std::map<std::string, std::int64_t> operators;
  for (const Json& kernel : json["kernels"]) operators[kernel["name"]] = kernel["ns"].get<std::int64_t>();
  CHECK(operators.at("aten::linear") == (40 + 60) * 1000);
  CHECK(operators.at("aten::_foreach_add_") == 60 * 1000);
  const Json& a = *std::ranges::find(json["modules"], "a", [](const Json& module) { return module["path"]; });
  std::int64_t calls = 0;
  for (const Json& use : a["kernels"]) calls += use["calls"].get<std::int64_t>();
  CHECK(calls == 2);  // linear and mul; the fixture's backward nodes run no operator
}

TEST_CASE("equal blocks are one row of the text unless it is unfolded") {
  profile::Profile profile;
  profile.steps.push_back({.wall = Ns{1000}});
  profile.modules.push_back({.path = "", .class_name = "Net", .children = {profile::ModuleId{1}, profile::ModuleId{2}}});
  profile.modules.push_back(
      {.path = "layers.0", .class_name = "Layer", .parent = profile::ModuleId{0}, .calls = 1, .how = profile::How::recorded});
  profile.modules.push_back(
      {.path = "layers.1", .class_name = "Layer", .parent = profile::ModuleId{0}, .calls = 1, .how = profile::How::recorded});
  for (profile::Module& module : profile.modules) {
    module.forward = {profile::Times{.cpu_total = Ns{400}}};
    module.backward = {profile::Times{}};
  }
  CHECK(report_text(profile).find("0…1  Layer ×2") != std::string::npos);
  const std::string unfolded = report_text(profile, {.unfold = true});
  CHECK(unfolded.find("×2") == std::string::npos);
  CHECK(unfolded.find("1  Layer") != std::string::npos);
  // One child each, which takes all of its time: the range is of the names that differ.
  for (const std::uint32_t parent : {1U, 2U}) {
    profile::Module inner = profile.modules[parent];
    inner.path += ".default";
    inner.class_name = "Linear";
    inner.parent = profile::ModuleId{parent};
    profile.modules.push_back(inner);
    profile.modules[parent].children = {profile::ModuleId{parent + 2}};
  }
  CHECK(report_text(profile).find("0…1/default  Linear ×2") != std::string::npos);
  profile.modules.resize(3);
  for (profile::Module& module : profile.modules) std::erase_if(module.children, [](profile::ModuleId id) { return id.index > 2; });
  // Instances of module frames: the stem of a range is said once.
  profile.modules[1].path = "Net_0/Layer_1";
  profile.modules[2].path = "Net_0/Layer_12";
  profile.modules[1].how = profile.modules[2].how = profile::How::frames;
  CHECK(report_text(profile).find("    Layer_1…12 ×2 ") != std::string::npos);
}

TEST_CASE("an outlier says what differed") {
  profile::Profile profile;
  for (const std::int64_t wall : {1000, 1010, 990, 2000, 1005}) profile.steps.push_back({.index = 7, .wall = Ns{wall}});
  profile.steps[3].outlier = true;
  profile.steps[3].differences = {{"bucket data_loading", Ns{950}}, {"module a\x1b[2J", Ns{40}}};
  const std::string text = report_text(profile);
  CHECK(text.find("step 7 took 2.00 µs, unlike the others: +950 ns bucket data_loading, +40 ns module a?[2J") != std::string::npos);
  CHECK(text.find("p10 994 ns, p90 1.60 µs") != std::string::npos);
  CHECK(Json::parse(report_json(profile))["steps"][3]["differences"][0]["excess_ns"] == 950);
}

TEST_CASE("text and JSON survive names that are not UTF-8") {
  profile::Profile profile;
  profile.source = "\xff\xfe.py";
  profile.steps.push_back({.wall = Ns{1}});
  CHECK(Json::parse(report_json(profile))["profile"]["source"] == "\xef\xbf\xbd\xef\xbf\xbd.py");
  CHECK_FALSE(report_text(profile).empty());
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

namespace {

// A step of the fixture in which an operator is compiled code, and what the recorder noted of the whole run.
struct CompiledBundle {
  CompiledBundle() {
    Json manifest = manifest_json();
    manifest["compiled"] = {
        {"count", 3},
        {"took_ns", 4'500'000'000},
        {"compilations",
         {{{"region", "0/0"}, {"function", "forward"}, {"file", "/w/model.py"}, {"line", 19}, {"start_us", 0}, {"took_ns", 4'000'000'000}},
          {{"region", "0/1"},
           {"function", "forward"},
           {"file", "/w/model.py"},
           {"line", 19},
           {"start_us", 1200},
           {"took_ns", 400'000'000},
           {"again", "tensor 'x' size mismatch at index 0. expected 48, actual 32"}}}},
        {"breaks", {{{"file", "/w/model.py"}, {"line", 21}, {"function", "forward"}, {"reason", "Call to graph_break()"}, {"count", 2}}}},
        {"missing", Json::array()}};
    write_bundle(folder.path() / "b", manifest);
    TraceWriter trace;
    write_step(trace, 0, 0, 10, false);
    write_step(trace, 1000, 1, 20, false);
    for (Json& event : trace.events) {
      if (event["name"] == "aten::linear") event["name"] = "CompiledFunction";
    }
    write_text(folder.path() / "b" / "trace-0.json.gz", trace.text());
  }
  std::shared_ptr<const Profile> profile() const { return load(folder.path() / "b").value(); }

  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("the report says how much of the step ran compiled, where graphs break and what was compiled again") {
  const CompiledBundle bundle;
  const Json json = Json::parse(report_json(*bundle.profile()))["compiled"];
  CHECK(json["calls"] == 2);
  CHECK(json["wall_ns"] == 100'000);
  CHECK(json["forward_ns"] == 100'000);
  CHECK(json["backward_ns"] == 0);
  CHECK(json["graphs"] == 3);
  CHECK(json["compilation_ns"] == 4'500'000'000);
  CHECK(json["breaks"][0]["line"] == 21);
  CHECK(json["compilations"][0]["in_step"] == false);
  CHECK(json["compilations"][1]["in_step"] == true);
  const std::string text = report_text(*bundle.profile(), {});
  CHECK(text.contains("Compiled code\n  of the step               100 µs   10.0 %   in 2 graphs: forward 100 µs, backward 0 ns\n"));
  CHECK(text.contains("  1 graph break, where a graph ends\n    model.py:22             Call to graph_break()\n"));
  CHECK(text.contains("  compiled 3 graphs in 4.50 s, 1 of them inside the measured steps; compiled again:\n"));
  CHECK(text.contains("    model.py:20             tensor 'x' size mismatch at index 0. expected 48, actual 32\n"));
}

TEST_CASE("a report of a run without compiled code says nothing of it") {
  const TemporaryFolder folder;
  const std::shared_ptr<const Profile> profile = load(write_bundle(folder.path() / "b")).value();
  CHECK(!report_text(*profile, {}).contains("Compiled code"));
  CHECK(!Json::parse(report_json(*profile)).contains("compiled"));
}

TEST_CASE("work of a replayed graph is a row that says why it has no module, and what repeats in it") {
  const TemporaryFolder folder;
  TraceWriter trace;
  trace.range("ProfilerStep#0", 0, 1000);
  trace.op("aten::mm", 10, 40);
  trace.add("cuda_runtime", "cudaLaunchKernel", 20, 10, {{"correlation", 1}});
  trace.add("kernel", "gemm_eager", 40, 60, {{"correlation", 1}, {"device", 0}, {"stream", 7}});
  trace.add("cuda_runtime", "cudaGraphLaunch", 100, 20, {{"correlation", 2}});
  double start = 130;
  for (const char* name : {"embed", "gemm", "softmax", "gemm", "softmax", "gemm", "softmax", "head"}) {
    trace.add("kernel", name, start, 50, {{"correlation", 2}, {"device", 0}, {"stream", 7}});
    start += 50;
  }
  write_text(folder.path() / "t.json", trace.text());
  const std::shared_ptr<const Profile> profile = load(folder.path() / "t.json").value();
  const Json regions = Json::parse(report_json(*profile))["compiled"]["regions"];
  REQUIRE(regions.size() == 1);
  CHECK(regions[0]["kind"] == "replayed");
  CHECK(regions[0]["works"] == 8);
  CHECK(regions[0]["runs"] == 1);
  CHECK(regions[0]["device_ns"] == 400'000);
  CHECK(regions[0]["repeat"] == Json{{"works", 2}, {"times", 3}, {"ns", 300'000}});
  const std::string text = report_text(*profile, {});
  CHECK(
      text.contains("  without a module          400 µs   40.0 %   8 kernels of 1 run of cudaGraphLaunch\n"
                    "    2 kernels repeat 3 times in a row, 300 µs in all (75.0 %): probably equal layers\n"
                    "  replayed graphs: all their work has one launch, which tells no operator and no module\n"));
}
