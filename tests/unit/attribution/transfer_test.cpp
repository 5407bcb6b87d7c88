#include "annotator/attribution/map_step/transfer.h"

#include <algorithm>
#include <map>

#include "annotator/attribution/account/account.h"
#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

Script map_step() {
  return Script()
      .range("ProfilerStep#0", 0, 100)
      .range("hotlens.line#4", 1, 40)
      .range("hotlens.call#0", 2, 30)
      .range("hotlens.call#1", 3, 10)
      .op("aten::linear", 4, 8)
      .op("aten::addmm", 5, 4)
      .range("hotlens.call#2", 15, 10)
      .op("aten::relu", 16, 8);
}

struct Transferred {
  Transferred(const Script& clean_script, const Script& map_script, ModuleMap modules = small_map())
      : map_(std::move(modules)), clean(clean_script), recorded(map_script, &map_), result(run()) {}

  Transfer run() {
    return transfer({clean.trace, clean.forest, clean.steps}, {recorded.trace, recorded.forest, recorded.steps}, std::move(recorded.owners),
                    map_);
  }
  std::uint32_t module(std::string_view name, std::size_t nth = 0) const {
    const std::uint32_t call = result.owners.of[clean.node(name, nth)].call;
    return call == kNothing ? kNothing : result.owners.calls.value[call];
  }

  ModuleMap map_;
  Read clean;
  Read recorded;
  Transfer result;
};

}  // namespace

TEST_CASE("every clean step takes its owners from the map step") {
  const Script clean = Script()
                           .range("ProfilerStep#0", 0, 20)
                           .op("aten::linear", 2, 4)
                           .op("aten::addmm", 3, 2)
                           .op("aten::relu", 8, 2)
                           .range("ProfilerStep#1", 20, 20)
                           .op("aten::linear", 22, 4)
                           .op("aten::addmm", 23, 2)
                           .op("aten::relu", 28, 2);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.result.steps.at(1).certain == 3);
  CHECK(transferred.result.blurred.empty());
  CHECK(transferred.module("aten::addmm", 0) == 1);
  CHECK(transferred.module("aten::addmm", 1) == 1);
  CHECK(transferred.module("aten::relu", 1) == 2);
  CHECK(transferred.result.owners.of[transferred.clean.node("aten::relu")].stage == Stage::forward);
}

TEST_CASE("an operator without a twin belongs to its parent, or to what its neighbours share") {
  const Script clean = Script()
                           .range("ProfilerStep#0", 0, 40)
                           .op("aten::linear", 2, 9)
                           .op("aten::addmm", 3, 2)
                           .op("extra inside", 6, 2)
                           .op("extra between", 14, 2)
                           .op("aten::relu", 18, 2);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.result.steps.at(0).operators == 5);
  CHECK(transferred.result.steps.at(0).found == 3);
  CHECK(transferred.result.steps.at(0).certain == 3);
  CHECK(transferred.module("extra inside") == 1);
  CHECK(transferred.module("extra between") == 0);
}

TEST_CASE("launches belong to the operator that made them") {
  const Script clean =
      Script().range("ProfilerStep#0", 0, 40).op("aten::linear", 2, 9).op("aten::addmm", 3, 6).launch(4, 5, 1).op("aten::relu", 18, 2);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.module("cudaLaunchKernel") == 1);
}

TEST_CASE("a program that did something else finds no twins and says so") {
  const Script clean = Script().range("ProfilerStep#0", 0, 40).op("other a", 2, 9).op("other b", 12, 6);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.result.steps.at(0).found == 0);
  CHECK(transferred.module("other a") == kNothing);
}

namespace {

// `rounds` of a solver: zero_grad, a call of the model, then its own arithmetic, `own` operators that grow by `more` each round.
Script solver(int rounds, int own, int more, bool map) {
  Script script;
  int at = 0;
  script.range("ProfilerStep#0", 0, 1'000'000);
  for (int round = 0; round < rounds; ++round) {
    script.op("aten::zeros_like", at += 10, 4);
    if (map) script.range("hotlens.line#4", at + 5, 40).range("hotlens.call#0", at + 6, 30).range("hotlens.call#1", at + 7, 10);
    script.op("aten::addmm", at += 10, 4);
    at += 40;
    for (int op = 0; op < own + round * more; ++op) script.op(op % 2 == 0 ? "aten::dot" : "aten::add_", at += 10, 4);
  }
  return script;
}

}  // namespace

TEST_CASE("a solver that iterates more often than in the map step, each time longer, is compared round by round") {
  const Script clean = solver(9, 3000, 500, false), map = solver(6, 900, 400, true);
  const Transferred transferred(clean, map);
  for (std::size_t round = 0; round < 9; ++round) CHECK(transferred.module("aten::addmm", round) == 1);
  CHECK(transferred.module("aten::dot", 20) == kNothing);
}

namespace {

// A model (0) with an embedding (1), a stack (2) of three equal layers (3, 4, 5) and a head (6). `ran`: layers of one step, in order.
ModuleMap stack_map() {
  return {.module_of_call = {0, 1, 2, 3, 4, 5, 6},
          .module_of_param = {},
          .module_parent = {kNothing, 0, 0, 2, 2, 2, 0},
          .module_class = {0, 1, 2, 3, 3, 3, 4},
          .role = std::vector(7, RootRole::model),
          .lines = 4};
}

void write_step(Script& script, std::int64_t at, int index, const std::vector<int>& ran, bool markers) {
  const auto marker = [&](const std::string& name, std::int64_t start, std::int64_t duration) {
    if (markers) script.range(name, start, duration);
  };
  const std::int64_t stack = 10 * std::ssize(ran);
  script.range("ProfilerStep#" + std::to_string(index), at, 100);
  marker("hotlens.line#0", at + 1, 90);
  marker("hotlens.call#0", at + 2, 88);
  marker("hotlens.call#1", at + 3, 8);
  script.op("aten::embedding", at + 4, 6);
  marker("hotlens.call#2", at + 12, stack + 4);
  for (std::int64_t layer = 0; layer < std::ssize(ran); ++layer) {
    const std::int64_t start = at + 14 + 10 * layer;
    marker("hotlens.line#1", start, 9);
    marker("hotlens.call#" + std::to_string(ran[static_cast<std::size_t>(layer)]), start + 1, 8);
    marker("hotlens.line#2", start + 1, 8);
    script.op("aten::linear", start + 2, 3);
    script.op("aten::relu", start + 6, 2);
  }
  marker("hotlens.call#6", at + 70, 15);
  script.op("aten::mm", at + 72, 8);
}

Script steps_of(const std::vector<std::vector<int>>& ran, bool markers) {
  Script script;
  for (std::size_t i = 0; i < ran.size(); ++i) write_step(script, static_cast<std::int64_t>(i) * 100, static_cast<int>(i), ran[i], markers);
  return script;
}

// By step: the module of each relu, and at last of the head.
std::vector<std::vector<std::uint32_t>> modules_of(const Transferred& transferred, const std::vector<std::vector<int>>& ran) {
  std::vector<std::vector<std::uint32_t>> found;
  std::size_t relu = 0;
  for (const std::vector<int>& layers : ran) {
    std::vector<std::uint32_t>& step = found.emplace_back();
    for (std::size_t i = 0; i < layers.size(); ++i) step.push_back(transferred.module("aten::relu", relu++));
    step.push_back(transferred.module("aten::mm", found.size() - 1));
  }
  return found;
}

using Found = std::vector<std::vector<std::uint32_t>>;

}  // namespace

TEST_CASE("a layer that a step leaves out makes its equals one with the stack, and steps that ran all keep their layers") {
  const std::vector<std::vector<int>> ran = {{3, 4, 5}, {3, 5}, {3, 4, 5}};
  const Script clean = steps_of(ran, false);
  const Script map = steps_of({{3, 4, 5}}, true);
  const Transferred transferred(clean, map, stack_map());
  CHECK(modules_of(transferred, ran) == Found{{3, 4, 5, 6}, {2, 2, 6}, {3, 4, 5, 6}});
  CHECK(transferred.result.steps.at(0).certain == 8);
  CHECK(transferred.result.steps.at(1).operators == 6);
  CHECK(transferred.result.steps.at(1).certain == 2);
  REQUIRE(transferred.result.blurred.size() == 1);
  CHECK(transferred.result.blurred[0].module == 2);
  CHECK(transferred.result.blurred[0].operators == 4);
  // The line that calls a layer and the line inside are the same for all of them.
  const Owner& owner = transferred.result.owners.of[transferred.clean.node("aten::relu", 3)];
  CHECK(transferred.result.owners.lines.value[owner.line] == 2);
}

TEST_CASE("a map step that left a layer out tells none of its equals from it once other steps ran more") {
  const std::vector<std::vector<int>> ran = {{3, 4, 5}, {4, 5}};
  const Script clean = steps_of(ran, false);
  const Script map = steps_of({{3, 5}}, true);
  const Transferred transferred(clean, map, stack_map());
  CHECK(modules_of(transferred, ran) == Found{{2, 2, 2, 6}, {2, 2, 6}});
}

TEST_CASE("what ran in one of several layers that the same lines make is known to be one of these") {
  ModuleMap alike = stack_map(), apart = stack_map();
  alike.definition = {0, 1, 2, 3, 3, 3, 6};
  apart.definition = {0, 1, 2, 3, 4, 5, 6};
  const auto definitions = [](const std::vector<std::vector<int>>& ran, const std::vector<int>& map, const ModuleMap& modules) {
    const Script clean = steps_of(ran, false);
    const Script slow = steps_of({map}, true);
    const Transferred transferred(clean, slow, modules);
    std::vector<std::uint32_t> found;
    for (std::size_t relu = 0; relu < 5; ++relu) {
      const Owner& owner = transferred.result.owners.of[transferred.clean.node("aten::relu", relu)];
      const std::uint32_t one_of = owner.one_of;
      found.push_back(one_of == kNothing ? kNothing : modules.definition[transferred.result.owners.calls.value[one_of]]);
      CHECK((one_of == kNothing || transferred.result.owners.calls.is_inside(one_of, owner.call)));
    }
    return found;
  };
  constexpr std::uint32_t kNone = kNothing;
  CHECK(definitions({{3, 4, 5}, {3, 5}}, {3, 4, 5}, alike) == std::vector<std::uint32_t>{kNone, kNone, kNone, 3, 3});
  CHECK(definitions({{3, 4, 5}, {4, 5}}, {3, 5}, alike) == std::vector<std::uint32_t>{3, 3, 3, 3, 3});
  CHECK(definitions({{3, 4, 5}, {3, 5}}, {3, 4, 5}, apart) == std::vector<std::uint32_t>(5, kNone));
  CHECK(definitions({{3, 4, 5}, {4, 5}}, {3, 5}, apart) == std::vector<std::uint32_t>(5, kNone));
}

TEST_CASE("a layer that never runs takes nothing from its equals") {
  const std::vector<std::vector<int>> ran = {{3, 5}, {3, 5}};
  const Script clean = steps_of(ran, false);
  const Script map = steps_of({{3, 5}}, true);
  const Transferred transferred(clean, map, stack_map());
  CHECK(modules_of(transferred, ran) == Found{{3, 5, 6}, {3, 5, 6}});
}

TEST_CASE("one module called more often than in the map step keeps its time") {
  const std::vector<std::vector<int>> ran = {{3, 3, 3}, {3}};
  ModuleMap modules = stack_map();
  modules.module_class = {0, 1, 2, 3, 7, 8, 4};
  const Script clean = steps_of(ran, false);
  const Script map = steps_of({{3, 3}}, true);
  const Transferred transferred(clean, map, modules);
  CHECK(modules_of(transferred, ran) == Found{{3, 3, 3, 6}, {3, 6}});
}

TEST_CASE("what an operator holds may differ from its twin's, and does not mix with what stands beside it") {
  const Script clean = Script()
                           .range("ProfilerStep#0", 0, 40)
                           .op("aten::linear", 2, 9)
                           .op("aten::copy_", 3, 2)
                           .op("aten::addmm", 6, 4)
                           .op("aten::relu", 18, 2)
                           .op("aten::addmm", 24, 4);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.module("aten::addmm", 0) == 1);
  CHECK(transferred.module("aten::copy_") == 1);
  CHECK(transferred.module("aten::relu") == 2);
  CHECK(transferred.module("aten::addmm", 1) == kNothing);
  CHECK(transferred.result.steps.at(0).found == 3);
}

namespace {

// Line 4 calls the model (call 0) after `before`, which runs line 5 for `pause` before its first operator.
Script slow_map(std::int64_t pause, std::int64_t before = 0) {
  return Script()
      .range("ProfilerStep#0", 0, before + pause + 1000)
      .op("aten::randn", 10, 5)
      .range("hotlens.line#4", 20, before + pause + 200)
      .range("hotlens.call#0", before + 30, pause + 180)
      .range("hotlens.line#5", before + 40, pause)
      .op("aten::linear", before + pause + 100, 8);
}

}  // namespace

TEST_CASE("a long pause belongs to the module and the line that ran in the map step meanwhile") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 3020, 8);
  const Script map = slow_map(GENERATE(3000, 90000), 400);
  const Transferred transferred(clean, map);
  const Owners& owners = transferred.result.owners;
  REQUIRE(owners.pauses.size() == 1);
  const std::vector<Share>& shares = owners.splits.at(owners.pauses.at(transferred.clean.node("aten::linear")).split);
  const Share& most = std::ranges::max(shares, {}, &Share::weight);
  CHECK(owners.calls.value[most.call] == 0);
  CHECK(owners.lines.value[most.line] == 5);
  CHECK(most.stage == Stage::forward);
  CHECK(most.weight > 0.85);
}

namespace {

// By line, of what a map step tells of the time before an operator of the clean one.
std::map<std::uint32_t, double> weights_before(const Transferred& transferred, std::string_view name) {
  const Owners& owners = transferred.result.owners;
  std::map<std::uint32_t, double> weights;
  const auto pause = owners.pauses.find(transferred.clean.node(name));
  if (pause == owners.pauses.end()) return weights;
  for (const Share& share : owners.splits.at(pause->second.split)) {
    weights[share.line == kNothing ? kNothing : owners.lines.value[share.line]] += share.weight;
  }
  return weights;
}

}  // namespace

TEST_CASE("a pause divides between the lines that ran in it, however often each was watched") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 3015, 8);
  // Line 5 takes 2 ms at once; line 6 runs a hundred times, for 10 µs each. Watching adds 20 µs each time.
  Script map = Script().range("ProfilerStep#0", 0, 9000).op("aten::randn", 10, 5).range("hotlens.line#5", 15, 2020);
  for (int i = 0; i < 100; ++i) map.range("hotlens.line#6", 2035 + 30 * i, 30);
  map.op("aten::linear", 5035, 8);
  std::map<std::uint32_t, double> weights = weights_before(Transferred(clean, map), "aten::linear");
  CHECK(weights[5] == Approx(2.0 / 3));
  CHECK(weights[6] == Approx(1.0 / 3));
}

TEST_CASE("what held the machine during one of many short lines gives the line nothing") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 415, 8);
  // A loop: its header takes nothing, its body 4 µs a time. Watching adds 10 µs; once the machine was away for 5 ms.
  Script map = Script().range("ProfilerStep#0", 0, 90000).op("aten::randn", 10, 5);
  std::int64_t at = 15;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t header = i == 50 ? 5000 : 10;
    map.range("hotlens.line#5", at, header).range("hotlens.line#6", at + header, 14);
    at += header + 14;
  }
  map.op("aten::linear", at, 8);
  std::map<std::uint32_t, double> weights = weights_before(Transferred(clean, map), "aten::linear");
  CHECK(weights[5] == Approx(0).margin(0.01));
  CHECK(weights[6] == Approx(1).margin(0.01));
}

TEST_CASE("what watching adds to a line besides its mark is not the line's") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 1015, 8);
  Script map = Script().range("ProfilerStep#0", 0, 90000).op("aten::randn", 10, 5);
  for (int i = 0; i < 100; ++i) map.range("hotlens.line#5", 15 + 50 * i, 25).range("hotlens.line#6", 40 + 50 * i, 25);
  map.op("aten::linear", 5015, 8);
  ModuleMap modules = small_map();
  modules.watching.resize(modules.lines);
  modules.watching[5] = us(10);
  std::map<std::uint32_t, double> weights = weights_before(Transferred(clean, map, modules), "aten::linear");
  CHECK(weights[5] == Approx(0).margin(0.01));
  CHECK(weights[6] == Approx(1).margin(0.01));
}

TEST_CASE("a map step that was slow for another reason does not take short lines for watching") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 2015, 8);
  Script map = Script().range("ProfilerStep#0", 0, 9000).op("aten::randn", 10, 5).range("hotlens.line#5", 15, 6025);
  map.range("hotlens.line#6", 6040, 525).op("aten::linear", 6565, 8);
  std::map<std::uint32_t, double> weights = weights_before(Transferred(clean, map), "aten::linear");
  CHECK(weights[6] == Approx(500.0 / 6500));
}

TEST_CASE("what the recorder did outside of every mark is no part of a pause") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::linear", 3000, 8);
  const Script map = Script()
                         .range("ProfilerStep#0", 0, 9000)
                         .range("hotlens.line#5", 2000, 2000)
                         .range("hotlens.line#6", 4000, 1000)
                         .op("aten::linear", 5000, 8);
  std::map<std::uint32_t, double> weights = weights_before(Transferred(clean, map), "aten::linear");
  CHECK(weights.size() == 2);
  CHECK(weights[5] == Approx(2.0 / 3).margin(0.01));
  CHECK(weights[6] == Approx(1.0 / 3).margin(0.01));
}

TEST_CASE("what the map step ran outside of every line keeps its part of a pause as it is") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 1015, 8);
  const Script map = Script()
                         .range("ProfilerStep#0", 0, 4000)
                         .op("aten::randn", 10, 5)
                         .range("hotlens.stage#optimizer", 15, 600)
                         .range("hotlens.line#5", 615, 400)
                         .op("aten::linear", 1015, 8);
  std::map<std::uint32_t, double> weights = weights_before(Transferred(clean, map), "aten::linear");
  CHECK(weights[5] == Approx(0.4));
  CHECK(weights[kNothing] == Approx(0.6));
}

TEST_CASE("what follows the last operator of a step is told as well") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::linear", 10, 90);
  const Script map = Script().range("ProfilerStep#0", 0, 5000).op("aten::linear", 10, 90).range("hotlens.line#5", 100, 4900);
  const Transferred transferred(clean, map);
  const Owners& owners = transferred.result.owners;
  REQUIRE(owners.tails.contains(transferred.clean.node("aten::linear")));
  const std::vector<Share>& shares = owners.splits.at(owners.tails.at(transferred.clean.node("aten::linear")).split);
  CHECK(owners.lines.value[shares.at(0).line] == 5);
  CHECK(shares.at(0).weight == Approx(1));
}

TEST_CASE("a generator's fetch is data, and one that trains inside is none") {
  const bool trains = GENERATE(false, true);
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 2000, 5).op("aten::linear", 3000, 8);
  Script map = Script()
                   .range("ProfilerStep#0", 0, 9000)
                   .range("hotlens.line#4", 0, 5000)
                   .range("hotlens.stage#data", 10, 4000)
                   .range("hotlens.line#5", 100, 1900)
                   .op("aten::randn", 2100, 5);
  if (trains) map.range("hotlens.stage#optimizer", 2500, 100);
  map.op("aten::linear", 4500, 8);
  const Transferred transferred(clean, map);
  const Owners& owners = transferred.result.owners;
  CHECK((owners.of[transferred.clean.node("aten::randn")].stage == Stage::data) == !trains);
  const Account result = account(transferred.clean.trace, transferred.clean.forest, transferred.clean.steps, owners);
  const Ns data = result.steps.at(0).wall_by_stage.at(static_cast<std::size_t>(Stage::data));
  CHECK((trains ? data == Ns{} : data > us(1900)));
}

TEST_CASE("a fetch divides between the lines that ran in it, each as long as in the map step, and the line around them has the rest") {
  const std::string loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).range(loader, 0, 1000).op("aten::stack", 900, 50);
  const Script map = Script()
                         .range("ProfilerStep#0", 0, 9000)
                         .range("hotlens.line#4", 0, 3000)
                         .range(loader, 10, 2000)
                         .range("hotlens.line#5", 100, 450)
                         .range("hotlens.line#6", 1000, 225)
                         .op("aten::stack", 1800, 50);
  const Transferred transferred(clean, map);
  const Owners& owners = transferred.result.owners;
  const Owner& owner = owners.pauses.at(transferred.clean.node("aten::stack"));
  std::map<std::uint32_t, double> weights;
  for (const Share& share : owners.splits.at(owner.split)) weights[owners.lines.value[share.line]] = share.weight;
  CHECK(weights.size() == 3);
  CHECK(weights[5] == Approx(0.5));
  CHECK(weights[6] == Approx(0.25));
  CHECK(weights[4] == Approx(0.25));
  const Account result = account(transferred.clean.trace, transferred.clean.forest, transferred.clean.steps, owners);
  std::map<std::uint32_t, Ns> lines;
  for (const Piece& piece : result.steps.at(0).wall) {
    if (piece.end <= us(900)) lines[owners.lines.value[piece.owner.line]] += piece.end - piece.start;
  }
  CHECK(lines[5] == us(450));
  CHECK(lines[6] == us(225));
}

TEST_CASE("a fetch that workers make divides between the lines that they ran, each inside the one that called it") {
  const std::string loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  const auto step = [&](const std::string& name) {
    return Script().range("ProfilerStep#0", 0, 4000).range("hotlens.line#4", 0, 3000).range(name, 0, 1000).op("aten::linear", 1200, 50);
  };
  ModuleMap map = small_map();
  map.lines = 7;
  map.fetches = {{.lines = {5, 6}, .weight = 0.5}, {.lines = {5}, .weight = 0.25}};
  const auto times = [&](const std::string& name) {
    const Script script = step(name);
    const Transferred transferred(script, script, map);
    const Owners& owners = transferred.result.owners;
    const Account result = account(transferred.clean.trace, transferred.clean.forest, transferred.clean.steps, owners);
    std::map<std::uint32_t, Ns> lines;  // with all that is inside them
    for (const Piece& piece : result.steps.at(0).wall) {
      for (std::uint32_t link = piece.owner.line; piece.end <= us(1000) && link != kNothing; link = owners.lines.parent[link]) {
        lines[owners.lines.value[link]] += piece.end - piece.start;
      }
    }
    return lines;
  };
  CHECK(times(loader) == std::map<std::uint32_t, Ns>{{4, us(1000)}, {5, us(750)}, {6, us(500)}});
  CHECK(times("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == std::map<std::uint32_t, Ns>{{4, us(1000)}});
}

TEST_CASE("a pause that took much shorter in the map step tells nothing") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 3020, 8);
  const Script hurried = slow_map(900);
  CHECK(Transferred(clean, hurried).result.owners.pauses.empty());
}

TEST_CASE("a pause in which another operator ran in the map step, or a short one, tells nothing") {
  const Script clean = Script().range("ProfilerStep#0", 0, 4000).op("aten::randn", 10, 5).op("aten::linear", 3020, 8);
  Script map = slow_map(3000);
  map.op("aten::sin", 2000, 5);
  CHECK(Transferred(clean, map).result.owners.pauses.empty());
  const Script brief = Script().range("ProfilerStep#0", 0, 400).op("aten::randn", 10, 5).op("aten::linear", 100, 8);
  const Script same = slow_map(80);
  CHECK(Transferred(brief, same).result.owners.pauses.empty());
}
