#include "annotator/report/diff.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::report;
using namespace hotlens::profile;

namespace {

std::vector<Ns> us(const std::vector<std::int64_t>& values) {
  std::vector<Ns> times;
  for (const std::int64_t value : values) times.push_back(std::chrono::microseconds(value));
  return times;
}

struct Spec {
  std::string path, class_name;
  std::int64_t parent = -1;
  std::vector<std::int64_t> forward = {};  // µs per step
  std::int64_t calls = 1;
};

// A host-only profile whose steps and modules take what is given, in microseconds.
Side side(const std::vector<std::int64_t>& steps, const std::vector<Spec>& modules, profile::How how = profile::How::recorded) {
  auto profile = std::make_shared<profile::Profile>();
  for (const Ns wall : us(steps)) profile->steps.push_back({.wall = wall});
  for (const Spec& spec : modules) {
    profile::Module module{.path = spec.path, .class_name = spec.class_name, .calls = spec.calls, .how = how};
    if (spec.parent >= 0) module.parent = profile::ModuleId{static_cast<std::uint32_t>(spec.parent)};
    for (std::size_t step = 0; step < steps.size(); ++step) {
      module.forward.push_back({.cpu_total = spec.forward.empty() ? Ns{} : us(spec.forward).at(step)});
      module.backward.push_back({});
    }
    if (spec.parent >= 0) {
      profile->modules[static_cast<std::size_t>(spec.parent)].children.push_back(
          profile::ModuleId{static_cast<std::uint32_t>(profile->modules.size())});
    }
    profile->modules.push_back(std::move(module));
  }
  return {.profile = profile, .plain_steps = {}, .operators = {}, .kernels = {}};
}

const ModuleRow& row(const Diff& diff, std::string_view path) {
  const auto at = std::ranges::find(diff.modules, path, &ModuleRow::path);
  REQUIRE(at != diff.modules.end());
  return *at;
}

// "old path → new path" of every pair, "-" for none.
std::vector<std::string> pairs(const Side& before, const Side& after) {
  std::vector<std::string> texts;
  for (const ModulePair& pair : match_modules(*before.profile, *after.profile)) {
    const auto path = [](const Side& of, profile::ModuleId id) { return id.valid() ? of.profile->at(id).path : std::string("-"); };
    texts.push_back(path(before, pair.before) + " → " + path(after, pair.after));
  }
  return texts;
}

const std::vector<std::int64_t> kQuiet = {1000, 1010, 990, 1005, 995};

}  // namespace

TEST_CASE("a change inside the spread of the steps is no change, one beyond it is") {
  struct Case {
    std::vector<std::int64_t> before, after;
    Outcome outcome;
  };
  const std::vector<Case> cases = {
      {kQuiet, kQuiet, Outcome::same},
      {kQuiet, {1008, 1012, 998, 1003, 991}, Outcome::same},
      {kQuiet, {1150, 1160, 1140, 1155, 1145}, Outcome::slower},
      {kQuiet, {850, 860, 840, 855, 845}, Outcome::faster},
      {kQuiet, {1060, 1070, 1050, 1065, 1055}, Outcome::same},  // every step is slower, as another process may be by chance
      {{1000, 1400, 700, 1200, 800}, {1100, 1500, 800, 1300, 900}, Outcome::same},
      {kQuiet, {1200, 1700, 3000, 1250, 2600}, Outcome::slower},  // unsteady, yet every step is slower than every one before
      {kQuiet, {1000, 1010, 990, 1005, 9000}, Outcome::same},     // one slow step
      {{1000, 1000}, {1500, 1500}, Outcome::slower},
  };
  for (const Case& each : cases) {
    CAPTURE(each.after);
    const Diff found = diff(side(each.before, {}), side(each.after, {}));
    CHECK(name(found.step.outcome) == name(each.outcome));
    REQUIRE(found.step.noise.has_value());
    CHECK((std::chrono::abs(found.step.difference()) > *found.step.noise) == (each.outcome != Outcome::same));
  }
}

TEST_CASE("several runs a side tell a change that one run leaves to chance") {
  const auto runs = [](std::int64_t level) {
    std::vector<Side> sides;
    for (const std::int64_t shift : {-8, 0, 8}) {
      std::vector<std::int64_t> steps;
      for (const std::int64_t step : kQuiet) steps.push_back(step + level + shift);
      sides.push_back(side(steps, {{"a", "Linear", -1, steps}}));
      sides.back().plain_steps = us(steps);
    }
    return sides;
  };
  const std::vector<Side> before = runs(0), after = runs(80);
  CHECK(diff(before.front(), after.front()).step.outcome == Outcome::same);
  const Diff found = diff(before, after);
  CHECK(found.step.outcome == Outcome::slower);
  CHECK(found.step_plain);
  CHECK(*found.step.before == std::chrono::microseconds(1000));
  CHECK(found.before_runs.size() == 3);
  CHECK(diff(before, before).step.outcome == Outcome::same);
}

TEST_CASE("the run whose step is in the middle is shown") {
  std::vector<Side> runs = {side({3000}, {}), side({1000}, {}), side({2000}, {})};
  typical_first(runs);
  CHECK(runs.front().profile->steps.front().wall == std::chrono::microseconds(2000));
}

TEST_CASE("a machine that is slower in one of the runs changes no module") {
  const std::vector<std::int64_t> more = {1300, 1310, 1290, 1305, 1295}, much = {2600, 2610, 2590, 2605, 2595};
  // Steps so unsteady that a third more is within their noise.
  const std::vector<std::int64_t> old_step = {3000, 3900, 2900, 4100, 3300}, new_step = {3900, 5000, 3800, 4800, 4100};
  const Side before = side(old_step, {{"a", "Linear", -1, kQuiet}, {"b", "Linear", -1, kQuiet}, {"c", "Linear", -1, kQuiet}});
  const Side after = side(new_step, {{"a", "Linear", -1, more}, {"b", "Linear", -1, more}, {"c", "Linear", -1, much}});
  const Diff found = diff(before, after);
  CHECK(row(found, "a").time.outcome == Outcome::same);
  CHECK(row(found, "b").time.outcome == Outcome::same);
  CHECK(row(found, "c").time.outcome == Outcome::slower);
}

TEST_CASE("a layer of another width has changed, whatever its time") {
  const auto with = [](const char* shapes, std::int64_t parameters, std::int64_t batch) {
    Side side = ::side(kQuiet, {{"", "Net", -1, kQuiet}, {"a", "Linear", 0, kQuiet}});
    auto profile = std::make_shared<profile::Profile>(*side.profile);
    profile->costs.operators = {{.name = "aten::addmm", .shapes = "[[" + std::to_string(batch) + ", 256], " + shapes + "]"}};
    for (profile::Module& module : profile->modules) {
      module.memory.parameters = Bytes{parameters};
      module.forward_costs.uses = {{.at = 0, .calls = 1}};
    }
    side.profile = profile;
    return side;
  };
  const Side before = with("[256, 512]", 524288, 64), after = with("[256, 576]", 589824, 64), other_batch = with("[256, 512]", 524288, 32);
  const Diff found = diff(before, after);
  CHECK(row(found, "a").time.outcome == Outcome::same);
  CHECK(row(found, "a").explains);
  CHECK(row(found, "a").made == std::vector<std::string>{"512 → 576", "parameters 524 kB → 590 kB"});
  CHECK(row(found, "").made.empty());
  CHECK_FALSE(row(found, "").explains);
  CHECK(diff_text(found, before, after, false).find("a  512 → 576") != std::string::npos);
  CHECK_FALSE(row(diff(before, other_batch), "a").explains);
}

TEST_CASE("with a single step on one side the noise is not known") {
  const Diff found = diff(side({1000}, {}), side(kQuiet, {}));
  CHECK_FALSE(found.step.noise.has_value());
}

TEST_CASE("where the noise is not known nothing is said to be within it") {
  const Side before = side({1000}, {{"a", "Linear", -1, {5}}, {"b", "Linear", -1, {7}}});
  const Side after = side({1000}, {{"a", "Linear", -1, {5}}, {"b", "Linear", -1, {9}}});
  const std::string text = diff_text(diff(before, after), before, after, false);
  CHECK(text.find("The step did not change: ") != std::string::npos);
  CHECK(text.find("1 unchanged, 0 added") != std::string::npos);
}

TEST_CASE("plain steps, where both sides have them, are the step that counts") {
  Side before = side(kQuiet, {}), after = side(kQuiet, {});
  after.plain_steps = us({600, 610, 590, 605, 595});
  CHECK_FALSE(diff(before, after).step_plain);
  before.plain_steps = us({500, 510, 490, 505, 495});
  const Diff found = diff(before, after);
  CHECK(found.step_plain);
  CHECK(found.step.outcome == Outcome::slower);
  CHECK(*found.step.before == std::chrono::microseconds(500));
}

TEST_CASE("a profile is the same as itself") {
  const TemporaryFolder folder;
  const Side bundle = *read_side(write_bundle(folder.path() / "b"));
  const Diff found = diff(bundle, bundle);
  CHECK(found.step.outcome == Outcome::same);
  for (const auto* rows : {&found.totals, &found.stages, &found.stages_device, &found.buckets, &found.operators, &found.kernels}) {
    for (const Row& each : *rows) {
      CAPTURE(each.name);
      CHECK(each.time.outcome == Outcome::same);
      CHECK(each.time.difference() == Ns{});
    }
  }
  REQUIRE(found.modules.size() == 5);
  for (const ModuleRow& each : found.modules) {
    CHECK(each.before == each.after);
    CHECK(each.time.outcome == Outcome::same);
    CHECK_FALSE(each.explains);
  }
  CHECK(found.operators.size() == 9);
}

TEST_CASE("modules match by path through wrappers") {
  const Side plain = side(kQuiet, {{"", "Net"}, {"layer", "Sequential", 0}, {"layer.0", "Linear", 1}, {"layer.1", "ReLU", 1}});
  const Side wrapped = side(kQuiet, {{"", "DistributedDataParallel"},
                                     {"module", "OptimizedModule", 0},
                                     {"module._orig_mod", "Net", 1},
                                     {"module._orig_mod.layer", "Sequential", 2},
                                     {"module._orig_mod.layer.0", "Linear", 3},
                                     {"module._orig_mod.layer.1", "ReLU", 3}});
  CHECK(pairs(plain, wrapped) == std::vector<std::string>{"- → ", "- → module", " → module._orig_mod", "layer → module._orig_mod.layer",
                                                          "layer.0 → module._orig_mod.layer.0", "layer.1 → module._orig_mod.layer.1"});
  CHECK(without_wrappers("module._orig_mod.a.module.b") == "a.b");
  CHECK(without_wrappers("module").empty());
  CHECK(without_wrappers("modules.0") == "modules.0");
}

TEST_CASE("a module whose class changed keeps its place, others are added and removed") {
  const Side before = side(kQuiet, {{"", "Net"}, {"a", "Linear", 0}, {"gone", "Dropout", 0}});
  const Side after = side(kQuiet, {{"", "Net"}, {"a", "Conv2d", 0}, {"fresh", "ReLU", 0}});
  CHECK(pairs(before, after) == std::vector<std::string>{" → ", "a → a", "- → fresh", "gone → -"});
  const Diff found = diff(before, after);
  CHECK(row(found, "fresh").time.outcome == Outcome::added);
  CHECK(row(found, "gone").time.outcome == Outcome::removed);
  CHECK_FALSE(row(found, "gone").time.noise.has_value());
}

TEST_CASE("frame trees match by place: an inserted layer shifts the counters, not the pairs") {
  const Side before = side(
      kQuiet, {{"Net_0", "Net"}, {"Net_0/Linear_0", "Linear", 0}, {"Net_0/Block_0", "Block", 0}, {"Net_0/Block_0/Linear_1", "Linear", 2}},
      profile::How::frames);
  const Side after = side(kQuiet,
                          {{"Net_0", "Net"},
                           {"Net_0/Linear_0", "Linear", 0},
                           {"Net_0/Linear_1", "Linear", 0},
                           {"Net_0/Block_0", "Block", 0},
                           {"Net_0/Block_0/Linear_2", "Linear", 3}},
                          profile::How::frames);
  CHECK(pairs(before, after) == std::vector<std::string>{"Net_0 → Net_0", "Net_0/Linear_0 → Net_0/Linear_0", "- → Net_0/Linear_1",
                                                         "Net_0/Block_0 → Net_0/Block_0",
                                                         "Net_0/Block_0/Linear_1 → Net_0/Block_0/Linear_2"});
}

TEST_CASE("a bundle and a bare trace of the same model match: containers that are never called do not count") {
  const Side bundle = side(kQuiet, {{"", "Net"}, {"layers", "ModuleList", 0, {}, 0}, {"layers.0", "Linear", 1}, {"layers.1", "Linear", 1}});
  const Side trace = side(kQuiet,
                          {{"DistributedDataParallel_0", "DistributedDataParallel"},
                           {"DistributedDataParallel_0/Net_0", "Net", 0},
                           {"DistributedDataParallel_0/Net_0/Linear_0", "Linear", 1},
                           {"DistributedDataParallel_0/Net_0/Linear_1", "Linear", 1}},
                          profile::How::frames);
  CHECK(pairs(bundle, trace) == std::vector<std::string>{"- → DistributedDataParallel_0", " → DistributedDataParallel_0/Net_0",
                                                         "layers.0 → DistributedDataParallel_0/Net_0/Linear_0",
                                                         "layers.1 → DistributedDataParallel_0/Net_0/Linear_1", "layers → -"});
}

TEST_CASE("the deepest module that explains a change is the one to look at") {
  const std::vector<std::int64_t> twice = {2000, 2010, 1990, 2005, 1995};
  const std::vector<std::int64_t> more = {3000, 3010, 2990, 3005, 2995};
  const Side before =
      side(kQuiet, {{"", "Net", -1, twice}, {"a", "Block", 0, kQuiet}, {"a.slow", "Linear", 1, kQuiet}, {"b", "ReLU", 0, kQuiet}});
  const Side after =
      side(kQuiet, {{"", "Net", -1, more}, {"a", "Block", 0, twice}, {"a.slow", "Linear", 1, twice}, {"b", "ReLU", 0, kQuiet}});
  const Diff found = diff(before, after);
  for (const char* path : {"", "a", "a.slow"}) CHECK(row(found, path).time.outcome == Outcome::slower);
  CHECK_FALSE(row(found, "").explains);
  CHECK_FALSE(row(found, "a").explains);
  CHECK(row(found, "a.slow").explains);
  CHECK_FALSE(row(found, "b").explains);
  const std::string text = diff_text(found, before, after, false);
  CHECK(text.find("biggest change is in a.slow") != std::string::npos);
}

TEST_CASE("kernels of two devices have other names and the same families") {
  Side before = side(kQuiet, {}), after = side(kQuiet, {});
  const std::vector<std::int64_t> twice(kQuiet.size(), 2);
  before.kernels = {{"ampere_sgemm_128x64_tn", us(kQuiet), twice}, {"ampere_sgemm_32x32_nn", us(kQuiet), twice}};
  after.kernels = {{"volta_sgemm_128x64_tn", us({4000, 4010, 3990, 4005, 3995}), twice}};
  const Diff found = diff(before, after);
  CHECK(found.kernels.size() == 3);
  REQUIRE(found.families.size() == 1);
  CHECK(found.families[0].name == "gemm");
  CHECK(found.families[0].before_calls == 4);
  CHECK(found.families[0].after_calls == 2);
  CHECK(found.families[0].time.before == std::chrono::microseconds(2000));
  CHECK(found.families[0].time.outcome == Outcome::slower);
}

TEST_CASE("of a subtree that came or went only its root is named") {
  const Side before = side(kQuiet, {{"", "Net", -1, kQuiet}});
  const Side after = side(kQuiet, {{"", "Net", -1, kQuiet}, {"new", "Block", 0, kQuiet}, {"new.0", "Linear", 1, kQuiet}});
  const Diff there = diff(before, after);
  CHECK(row(there, "new").explains);
  CHECK_FALSE(row(there, "new.0").explains);
  const Diff back = diff(after, before);
  CHECK(row(back, "new").explains);
  CHECK_FALSE(row(back, "new.0").explains);
}

TEST_CASE("the gate looks at the step, or at the modules of a glob") {
  const Side before = side(kQuiet, {{"a", "Linear", -1, kQuiet}, {"b", "Linear", -1, kQuiet}});
  const Side after =
      side({1180, 1190, 1170, 1185, 1175}, {{"a", "Linear", -1, {1300, 1310, 1290, 1305, 1295}}, {"b", "Linear", -1, kQuiet}});
  const Diff found = diff(before, after);
  CHECK(gate(found, 0.05, "").crossed == std::vector<std::string>{"step"});
  CHECK(gate(found, 0.25, "").crossed.empty());
  CHECK(gate(found, 0.25, "*").crossed == std::vector<std::string>{"a"});
  CHECK(gate(found, 0.25, "b").crossed.empty());
  CHECK(gate(found, 0.25, "none*").compared == 0);
  CHECK(gate(found, 0.05, "").noisier == std::vector<std::string>{"step"});  // ±10 %: a slowdown of 6 % would not be told
  CHECK(gate(found, 0.25, "").noisier.empty());
  CHECK(gate(diff(before, before), 0.0, "").crossed.empty());
  const Gate unknown = gate(diff(side({1000}, {}), side({2000}, {})), 0.05, "");
  CHECK(unknown.crossed.size() == 1);
  CHECK(unknown.unknown_noise.size() == 1);
}

TEST_CASE("the JSON of a diff has the documented keys, and absent means not known") {
  const TemporaryFolder folder;
  const Side bundle = *read_side(write_bundle(folder.path() / "b"));
  const Diff found = diff(bundle, bundle);
  const Json json = Json::parse(diff_json(found, bundle, bundle, gate(found, 0.05, "a")));
  const auto keys = [](const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
  };
  CHECK(json["schema"] == "hotlens.diff/1");
  CHECK(keys(json) == std::vector<std::string>{"buckets", "families", "gate", "kernels", "modules", "new", "old", "operators", "schema",
                                               "stages", "stages_device", "step", "totals"});
  CHECK(keys(json["step"]) == std::vector<std::string>{"change_ns", "new_ns", "noise_ns", "old_ns", "outcome", "ratio", "steps"});
  CHECK(keys(json["modules"][1]) == std::vector<std::string>{"backward",  "backward_host",
                                                             "change_ns", "explains",
                                                             "forward",   "forward_host",
                                                             "new_calls", "new_class",
                                                             "new_ns",    "new_parameters_bytes",
                                                             "new_path",  "noise_ns",
                                                             "old_calls", "old_class",
                                                             "old_ns",    "old_parameters_bytes",
                                                             "old_path",  "outcome",
                                                             "path",      "ratio"});
  CHECK(keys(json["gate"]) == std::vector<std::string>{"compared", "crossed", "modules", "noise_unknown", "noisier", "threshold"});
  CHECK(json["old"]["measure"] == "host");
  CHECK(json["old"]["samples_per_step"] == 64);
}

TEST_CASE("hostile names cannot reach the terminal through a diff") {
  const Side before = side(kQuiet, {{"a\x1b[2J\n\xc2\x9b", "C\x07", -1, kQuiet}});
  const Side after = side(kQuiet, {{"a\x1b[2J\n\xc2\x9b", "D\x07", -1, {2000, 2010, 1990, 2005, 1995}}});
  const std::string text = diff_text(diff(before, after), before, after, false);
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(text.find("\xc2\x9b") == std::string::npos);
  CHECK(text.find("slower") == std::string::npos);  // the step is the same; only the module's row moved
  CHECK(text.find("+1.00 ms") != std::string::npos);
}
