#include "annotator/profile/profile.h"

#include <algorithm>

#include "annotator/profile/build/load.h"
#include "annotator/profile/build/module_name.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

Ns us(std::int64_t value) {
  return std::chrono::microseconds(value);
}

std::shared_ptr<const Profile> loaded(const Json& manifest = manifest_json(), const Json& model = model_json()) {
  const TemporaryFolder folder;
  const auto profile = load(write_bundle(folder.path() / "20261121T102300Z-1f3a9c", manifest, model));
  REQUIRE(profile.has_value());
  return *profile;
}

const Module& module(const Profile& profile, std::string_view path) {
  const auto at = std::ranges::find(profile.modules, path, &Module::path);
  REQUIRE(at != profile.modules.end());
  return *at;
}

const Line& line(const Profile& profile, std::uint32_t number) {
  const auto at = std::ranges::find(profile.lines, number, &Line::line);
  REQUIRE(at != profile.lines.end());
  return *at;
}

Ns wall(const Profile& profile, Bucket bucket, std::size_t step = 0) {
  return std::ranges::find(profile.buckets, bucket, &BucketTimes::bucket)->wall.at(step);
}

}  // namespace

TEST_CASE("a bundle says what ran") {
  const auto profile = loaded();
  CHECK(profile->id == "20261121T102300Z-1f3a9c");
  CHECK(profile->source == "train.py --lr 0.1");
  CHECK(profile->torch == "2.13.0");
  CHECK(profile->samples_per_step == 64);
  CHECK(profile->batch_size == 64);  // of a manifest without one
  CHECK(profile->plain_step == us(910));
  CHECK(profile->profiled_step == us(1000));
  CHECK(profile->alignment == 1.0);
  REQUIRE(profile->steps.size() == 2);
  CHECK(profile->steps[1].start == us(1000) + Ns{1000});
  CHECK_FALSE(profile->has_device());
  REQUIRE(profile->warnings.size() == 1);
  CHECK(profile->warnings[0].code == "few-steps");
}

TEST_CASE("modules carry forward and backward time of every step") {
  const auto profile = loaded();
  const Module& a = module(*profile, "a");
  const Module& b = module(*profile, "b");
  const Module& net = module(*profile, "");
  REQUIRE(a.forward.size() == 2);
  CHECK(a.forward[0].cpu_total == us(40 + 10 + 50));
  CHECK(a.backward[1].cpu_total == us(150 + 5 + 15));
  CHECK(b.forward[0].cpu_total == us(60));
  CHECK(b.backward[0].cpu_total == us(100));
  CHECK(net.forward[0].cpu_total == us(100 + 20 + 60));
  CHECK(net.forward[0].cpu_self == us(20));
  CHECK(net.backward[0].cpu_total == us(100 + 5 + 150 + 5 + 15));
  CHECK(module(*profile, "MSELoss").backward[0].cpu_total == us(30));
  CHECK(profile->shown(a.forward).cpu_total == us(100));
  CHECK(a.forward[0].span == us(100));
  CHECK(a.calls == 1);
  CHECK(a.memory.parameters == Bytes{400});
  CHECK(a.how == How::recorded);
}

TEST_CASE("gradients and the state of optimizers add up over the modules that hold them") {
  Json manifest = manifest_json(), model = model_json();
  model["parameters"] = {{{"id", 0}, {"module", 3}, {"name", "weight"}, {"bytes", 400}, {"gradient_bytes", 400}, {"optimizer_bytes", 804}},
                         {{"id", 1}, {"module", 2}, {"name", "weight"}, {"bytes", 80}, {"gradient_bytes", nullptr}, {"optimizer_bytes", 0}},
                         {{"id", 2}, {"module", 2}, {"name", "hostile"}, {"gradient_bytes", -1}, {"optimizer_bytes", INT64_MAX}}};
  manifest["optimizers"] = {{{"class", "LBFGS"}, {"elsewhere_bytes", 70}}, {{"class", "SGD"}, {"elsewhere_bytes", 0}}};
  const auto profile = loaded(manifest, model);
  CHECK(module(*profile, "a").memory.gradients == Bytes{400});
  CHECK(module(*profile, "a").memory.optimizer == Bytes{804});
  CHECK_FALSE(module(*profile, "b").memory.gradients.has_value());
  CHECK(module(*profile, "b").memory.optimizer == Bytes{0});
  CHECK(module(*profile, "").memory.optimizer == Bytes{804});
  CHECK_FALSE(module(*profile, "MSELoss").memory.optimizer.has_value());
  CHECK(profile->optimizer_elsewhere == Bytes{70});
  CHECK_FALSE(module(*loaded(), "a").memory.optimizer.has_value());
}

TEST_CASE("modules stand parents first and in call order, those that never ran last") {
  const auto profile = loaded();
  std::vector<std::string> paths;
  for (const Module& each : profile->modules) paths.push_back(each.path);
  CHECK(paths == std::vector<std::string>{"", "a", "b", "unused", "MSELoss"});
  CHECK(profile->modules[0].children.size() == 3);
  CHECK(profile->at(profile->modules[1].parent).path.empty());
  CHECK(module(*profile, "unused").calls == 0);
}

TEST_CASE("buckets and stages of a step") {
  const auto profile = loaded();
  CHECK(wall(*profile, Bucket::data_loading) == us(100));
  CHECK(wall(*profile, Bucket::zero_grad) == us(20));
  CHECK(wall(*profile, Bucket::forward) == us(180));
  CHECK(wall(*profile, Bucket::loss) == us(30));
  CHECK(wall(*profile, Bucket::backward) == us(30 + 5 + 100 + 5 + 150 + 5));
  CHECK(wall(*profile, Bucket::gradient_accumulation) == us(15));
  CHECK(wall(*profile, Bucket::optimizer) == us(80));
  CHECK(wall(*profile, Bucket::unattributed) == us(0));
  for (std::size_t step = 0; step < 2; ++step) {
    Ns sum{};
    for (const BucketTimes& bucket : profile->buckets) sum += bucket.wall[step];
    CHECK(sum == profile->steps[step].wall);
  }
  std::vector<Stage> stages;
  for (const StageTimes& stage : profile->stages) {
    if (stage.stage != Stage::other) stages.push_back(stage.stage);
  }
  CHECK(stages == std::vector{Stage::data, Stage::zero_grad, Stage::forward, Stage::loss, Stage::backward, Stage::optimizer});
}

TEST_CASE("a line holds what ran below it and the backward work that it created, each once") {
  const auto profile = loaded();
  CHECK(line(*profile, 9).forward[0].cpu_total == us(180));
  CHECK(line(*profile, 9).backward[0].cpu_total == us(100 + 5 + 150 + 20));
  CHECK(line(*profile, 11).forward[0].cpu_total == us(0));
  CHECK(line(*profile, 11).backward[0].cpu_total == us(310));
  // Behind the last operator the map step stood 10 of 109 us at this line, then at the loop's; of the clean step it is 110.
  CHECK(line(*profile, 12).forward[0].cpu_total == us(80) + Ns{110'000 * 10 / 109});
  // The loop's own line is around everything: each nanosecond once, although it both runs and created the backward work.
  CHECK(line(*profile, 8).forward[0].cpu_total + line(*profile, 8).backward[0].cpu_total == us(100 + 20 + 180 + 30 + 310 + 80 + 110));
  CHECK(line(*profile, 9).calls == 1);
}

TEST_CASE("a call site holds the modules called from it, and stages have their places") {
  const auto profile = loaded();
  const auto inner = std::ranges::find_if(profile->call_sites, [](const CallSite& call) { return call.site.line == 20; });
  REQUIRE(inner != profile->call_sites.end());
  REQUIRE(inner->modules.size() == 2);
  CHECK(profile->at(inner->modules[0]).path == "a");
  CHECK(inner->calls == 2);
  REQUIRE(profile->stage_sites.size() == 3);
  CHECK(profile->stage_sites[1].stage == Stage::backward);
  CHECK(profile->files.at(profile->stage_sites[1].site.file.index).path == "/w/train.py");
  CHECK(profile->files[0].copy.filename() == "0-model.py");
  CHECK(profile->files[1].copy.empty());
}

TEST_CASE("a loss that no criterion computes has the lines of the loop that compute it") {
  const auto profile = loaded();
  const StageSite& loss = profile->stage_sites.back();
  CHECK(loss.stage == Stage::loss);
  CHECK(loss.site.line == 10);
  CHECK(loss.wall == std::vector<Ns>{us(30), us(30)});
  Json model = model_json();
  model["stages"].push_back({{"stage", "loss"}, {"site", site(9)}});
  CHECK(loaded(manifest_json(), model)->stage_sites.size() == 3);
}

TEST_CASE("slices lie on the axis of the representative step, one per run of the module") {
  const auto profile = loaded();
  const std::vector<Slice>& slices = module(*profile, "a").slices;
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].start == us(160));
  CHECK(slices[0].duration == us(100));
  CHECK(slices[0].direction == Direction::forward);
  CHECK(slices[1].start == us(550));
  CHECK(slices[1].duration == us(170));
  CHECK(slices[1].direction == Direction::backward);
}

TEST_CASE("page faults of steps without the profiler are those of the rank that counted them") {
  const TemporaryFolder folder;
  Json manifest = manifest_json();
  manifest["plain_step_faults"] = {90, 100, 130};
  manifest["page_faults"] = {{"each_ns", 2000}, {"allocator", "glibc"}, {"keeps_freed", false}};
  const auto faults = [&](const char* name) { return (*load(write_bundle(folder.path() / name, manifest)))->page_faults; };

  const auto told = faults("told");
  REQUIRE(told);
  CHECK((told->count == 100 && told->each == Ns{2000} && told->step == us(910) && told->can_end));
  CHECK(told->time() == us(200));
  const std::string text = report::report_text(**load(folder.path() / "told"));
  CHECK(text.contains("page faults: 100 a step, about 200 µs of the 910 µs without the profiler; MALLOC_MMAP_THRESHOLD_=1073741824 "));

  manifest["page_faults"]["allocator"] = "libjemalloc.so.2";
  CHECK_FALSE(faults("other")->can_end);
  CHECK_FALSE(report::report_text(**load(folder.path() / "other")).contains("MALLOC_"));
  manifest["page_faults"] = {{"each_ns", 2000}, {"allocator", "glibc"}, {"keeps_freed", true}};
  CHECK_FALSE(faults("set")->can_end);
  for (const Json& each : {Json(nullptr), Json(0), Json(-5), Json(9'000'000'000'000'000'000)}) {
    manifest["page_faults"]["each_ns"] = each;
    CHECK_FALSE(faults("unknown"));
  }
  manifest.erase("page_faults");
  CHECK_FALSE(faults("older"));
}

TEST_CASE("of several ranks the one asked for is read, and all are known by their step times") {
  const TemporaryFolder folder;
  Json manifest = manifest_json();
  manifest["traces"] = {{{"file", "trace-0.json.gz"}, {"rank", 0}, {"plain_step_ns", {900000}}, {"profiled_step_ns", {1000000}}},
                        {{"file", "trace-3.json.gz"}, {"rank", 3}, {"plain_step_ns", {1200000}}, {"profiled_step_ns", {1500000}}}};
  const auto bundle = write_bundle(folder.path() / "b", manifest);
  TraceWriter slower;
  write_step(slower, 0, 0, 10, false);
  write_text(bundle / "trace-3.json.gz", slower.text());

  const auto first = load(bundle), other = load(bundle, std::nullopt, 3), none = load(bundle, std::nullopt, 1);
  REQUIRE((first && other));
  CHECK((*first)->rank == 0);
  CHECK((*first)->steps.size() == 2);
  CHECK((*other)->rank == 3);
  CHECK((*other)->steps.size() == 1);
  CHECK((*other)->plain_step == us(1200));
  REQUIRE((*first)->ranks.size() == 2);
  CHECK((*first)->ranks[1].plain_step == us(1200));
  const std::string text = report::report_text(**first);
  CHECK(text.find("rank 0 of 2 is shown; --rank N shows another") != std::string::npos);
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "the bundle has no rank 1; it holds 0, 3");
  CHECK(loaded()->ranks.empty());
}

TEST_CASE("gradients of a module are no larger than its weights, whatever its backward leaves behind") {
  const TemporaryFolder folder;
  const auto bundle = write_bundle(folder.path() / "b");
  TraceWriter map;
  write_step(map, 5000, 0, 50, true);
  const auto allocate = [&](double at, int bytes) {
    const Json args = {{"Device Type", 0}, {"Device Id", -1}, {"Addr", at}, {"Bytes", bytes}, {"Total Allocated", 1000}};
    map.events.push_back(
        {{"ph", "i"}, {"s", "t"}, {"cat", "cpu_instant_event"}, {"name", "[memory]"}, {"pid", 1}, {"tid", 1}, {"ts", at}, {"args", args}});
  };
  allocate(5600, 600);  // by an operator of a's backward
  allocate(5715, 400);  // of a's AccumulateGrad
  write_text(bundle / "trace-map.json.gz", map.text());
  const auto profile = load(bundle);
  REQUIRE(profile.has_value());
  CHECK(module(**profile, "a").memory.gradients == Bytes{400});
}

TEST_CASE("ranges of the script take no time from the modules that the map step knows") {
  const TemporaryFolder folder;
  const auto bundle = write_bundle(folder.path() / "b");
  TraceWriter trace;
  for (int step = 0; step < 2; ++step) {
    write_step(trace, step * 1000, step, 10 + step * 10, false);
    trace.range("one part", step * 1000 + 158, 44);
    trace.range("another", step * 1000 + 206, 56);
  }
  write_text(bundle / "trace-0.json.gz", trace.text());
  const auto profile = load(bundle);
  REQUIRE(profile.has_value());
  CHECK(module(**profile, "a").forward.at(0).cpu_total == us(100));
  CHECK(wall(**profile, Bucket::host) == wall(*loaded(), Bucket::host));
}

TEST_CASE("a bundle without a map step still knows modules, steps and stages") {
  Json manifest = manifest_json();
  manifest.erase("map_trace");
  const auto profile = loaded(manifest);
  CHECK(profile->modules.size() == 5);
  CHECK(module(*profile, "a").forward.at(0).cpu_total == Ns{});
  CHECK(wall(*profile, Bucket::data_loading) == us(100));
}

TEST_CASE("a map step that cannot be read is a warning, not the end") {
  const TemporaryFolder folder;
  write_bundle(folder.path() / "b");
  write_text(folder.path() / "b" / "trace-map.json.gz", "rubbish");
  const auto profile = load(folder.path() / "b");
  REQUIRE(profile.has_value());
  CHECK(std::ranges::count((*profile)->warnings, "no-map-trace", &Issue::code) == 1);
}

TEST_CASE("a module that several call has a row under each of them, which has the time of its calls there") {
  // Layer b is given to layer a, which calls it in its forward; the model calls it as well.
  Json model = model_json();
  model["calls"].push_back(
      {{"id", 4},
       {"module", 2},
       {"parent", 1},
       {"site", {{"file", 0}, {"line", 7}, {"end_line", 7}, {"column", 8}, {"end_column", 12}, {"function", "A.forward"}}}});
  const TemporaryFolder folder;
  const auto bundle = write_bundle(folder.path() / "bundle", manifest_json(), model);
  TraceWriter map;
  write_step(map, 5000, 0, 50, true);
  map.range("hotlens.call#4", 5205, 58);
  write_text(bundle / "trace-map.json.gz", map.text());
  const auto loaded = load(bundle);
  REQUIRE(loaded.has_value());
  const Profile& profile = **loaded;
  const auto row = [&](std::string_view path) -> const Module& {
    const auto found = std::ranges::find(profile.modules, path, &Module::path);
    REQUIRE(found != profile.modules.end());
    return *found;
  };
  const Module& own = row("b");
  const Module& visit = row("a/b");
  CHECK(last_name(visit) == "b");
  CHECK(visit.parent.index == static_cast<std::uint32_t>(&row("a") - profile.modules.data()));
  CHECK(&profile.at(visit.same_as) == &own);
  CHECK_FALSE(own.same_as.valid());
  CHECK(visit.attached->line == own.attached->line);
  CHECK_FALSE(visit.memory.parameters.has_value());  // held once
  CHECK(visit.forward[0].cpu_total == us(50));       // aten::mul
  CHECK(own.forward[0].cpu_total == us(60));
  CHECK(visit.backward[0].cpu_total == us(150));
  CHECK(row("a").forward[0].cpu_total == us(100));
  // Each line that calls it names all its rows.
  std::size_t listed = 0;
  for (const CallSite& site : profile.call_sites)
    listed += static_cast<std::size_t>(std::ranges::count_if(
        site.modules, [&](ModuleId id) { return profile.at(id).class_name == "Linear" && profile.at(id).path.ends_with('b'); }));
  CHECK(listed == 4);
}

TEST_CASE("ids that point nowhere are dropped, not followed") {
  Json model = model_json();
  model["calls"][1]["module"] = 99;
  model["calls"][2]["parent"] = 77;
  model["parameters"][0]["module"] = -5;
  model["lines"][1]["file"] = 42;
  model["modules"][2]["attached"]["file"] = 9;
  model["stages"].push_back({{"stage", "lunch"}, {"site", site(1)}});
  const auto profile = loaded(manifest_json(), model);
  CHECK_FALSE(module(*profile, "b").attached.has_value());
  CHECK(profile->stage_sites.size() == 3);
  CHECK(profile->lines.size() == 4);
}

TEST_CASE("a bare trace has the steps, and modules only where frames tell them") {
  const TemporaryFolder folder;
  TraceWriter trace;
  write_step(trace, 0, 3, 10, false);
  write_text(folder.path() / "x.pt.trace.json", trace.text());
  const auto profile = load(folder.path() / "x.pt.trace.json");
  REQUIRE(profile.has_value());
  CHECK((*profile)->id == "x.pt.trace.json");
  CHECK((*profile)->folder.empty());
  CHECK((*profile)->steps.at(0).index == 3);
  CHECK((*profile)->modules.empty());
}

TEST_CASE("a trace says that with_stack is missing exactly where that is why it gives no line") {
  const auto says = [](auto change) {
    const TemporaryFolder folder;
    TraceWriter trace;
    write_step(trace, 0, 3, 10, false);
    Json json = Json::parse(trace.text());
    change(json);
    write_text(folder.path() / "x.json", json.dump());
    const auto profile = load(folder.path() / "x.json");
    REQUIRE(profile.has_value());
    return std::ranges::find((*profile)->warnings, kNoFrames, &Issue::code) != (*profile)->warnings.end();
  };
  const Json frame = {{"ph", "X"},  {"cat", "python_function"}, {"name", "train.py(3): main"}, {"pid", 1}, {"tid", 1}, {"ts", 0},
                      {"dur", 1000}};
  CHECK(says([](Json&) {}));
  CHECK(says([](Json& json) { json["with_stack"] = 0; }));
  CHECK(!says([](Json& json) { json["with_stack"] = 1; }));
  CHECK(!says([&](Json& json) { json["traceEvents"].push_back(frame); }));
  // As torch wrote it before frames were events.
  CHECK(says([](Json& json) { json["traceEvents"][1]["args"]["Call stack"] = ""; }));
  CHECK(!says([](Json& json) { json["traceEvents"][2]["args"]["Call stack"] = "train.py(3): main"; }));
  CHECK(loaded()->warnings.size() == 1);
}

TEST_CASE("what is too deep or too long to be shown is said") {
  const TemporaryFolder folder;
  Json events = Json::array();
  const auto add = [&](const std::string& category, const std::string& name, int start, int duration) {
    events.push_back({{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", 1}, {"tid", 1}, {"ts", start}, {"dur", duration}});
  };
  for (int level = 0; level < 70; ++level) add("python_function", "nn.Module: Block_" + std::to_string(level), level, 1000 - 2 * level);
  add("cpu_op", "aten::add", 100, 5);
  add("python_function", "nn.Module: " + std::string(2000, 'x') + "_0", 2000, 100);
  write_text(folder.path() / "x.json", Json{{"traceEvents", events}}.dump());
  const auto profile = load(folder.path() / "x.json");
  REQUIRE(profile.has_value());
  const auto warning = [&](std::string_view code) { return std::ranges::find((*profile)->warnings, code, &Issue::code); };
  REQUIRE(warning("deep-modules") != (*profile)->warnings.end());
  CHECK(warning("deep-modules")->count == 6);
  REQUIRE(warning("long-paths") != (*profile)->warnings.end());
  CHECK(warning("long-paths")->count == 1);
}
