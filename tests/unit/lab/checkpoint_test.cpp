#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "annotator/lab/checkpoint/kept.h"
#include "annotator/lab/checkpoint/plans.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/outcome.h"
#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::lab;
using nlohmann::json;

namespace {

json t(int id) {
  return {{"t", id}};
}

json tensor(const char* kind, const char* name, int storage) {
  return {{"kind", kind},    {"name", name},       {"shape", {4}},        {"stride", {1}},        {"dtype", "float32"},
          {"device", "cpu"}, {"storage", storage}, {"storage_bytes", 16}, {"requires_grad", true}};
}

json op(const char* name, json args, json out, int module, int call) {
  return {{"op", name}, {"args", std::move(args)}, {"out", std::move(out)}, {"stage", "forward"}, {"module", module}, {"call", call}};
}

// Two blocks of one class, each a layer with a weight and an addition of its own: x → linear → add.
json two_blocks() {
  return {{"format", 1},
          {"device", "cpu"},
          {"threads", 1},
          {"modules",
           {{{"path", ""}, {"class", "Net"}},
            {{"path", "a"}, {"class", "Block"}},
            {{"path", "a.fc"}, {"class", "Linear"}},
            {{"path", "b"}, {"class", "Block"}},
            {{"path", "b.fc"}, {"class", "Linear"}}}},
          {"tensors", {tensor("input", "", 0), tensor("parameter", "a.fc.weight", 1), tensor("parameter", "b.fc.weight", 2)}},
          {"operators", json::array({op("aten::linear", {t(0), t(1)}, 3, 2, 1), op("aten::add", {t(0), t(3)}, 4, 1, 0),
                                     op("aten::linear", {t(4), t(2)}, 5, 4, 3), op("aten::add", {t(4), t(5)}, 6, 3, 2),
                                     op("aten::sum", json::array({t(6)}), 7, 0, 4), op("hotlens::free", {3, 4, 5, 6}, nullptr, 0, 4),
                                     op("hotlens::backward", json::array({t(7)}), nullptr, 0, 4)})}};
}

Edited checkpointed(const json& document) {
  auto program = decode(document);
  REQUIRE(program);
  return checkpoint_blocks(*std::move(program));
}

std::string reason(const json& document) {
  const Edited edited = checkpointed(document);
  REQUIRE(!edited);
  return edited.error().reason;
}

std::vector<std::string> names(const Program& of) {
  std::vector<std::string> found;
  for (const Operator& one : of.operators) found.push_back(one.name.substr(one.name.find("::") + 2));
  return found;
}

Pass pass(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> net(-20, 30), more(0, 40);
  const std::int64_t held = net(random);
  return {.net = held, .rise = std::max<std::int64_t>(held, 0) + more(random)};
}

StepCosts random_costs(std::mt19937& random, std::size_t blocks) {
  StepCosts costs{.start = 100, .before = pass(random), .after = pass(random), .blocks = std::vector<BlockCosts>(blocks)};
  std::uniform_int_distribution<std::int64_t> time(1, 9);
  for (BlockCosts& block : costs.blocks) {
    block.again = Ns{time(random)};
    for (const std::size_t before : {0, 1}) {
      for (const std::size_t itself : {0, 1}) {
        block.forward.at(before).at(itself) = pass(random);
        block.backward.at(before).at(itself) = pass(random);
      }
    }
  }
  return costs;
}

using Found = std::pair<std::int64_t, std::int64_t>;  // time, peak

std::vector<Found> by_trying_all(const StepCosts& costs) {
  std::vector<Found> all, best;
  const std::size_t blocks = costs.blocks.size();
  for (std::size_t bits = 0; bits < std::size_t{1} << blocks; ++bits) {
    Choice choice(blocks, false);
    for (std::size_t at = 0; at < blocks; ++at) choice[at] = (bits >> at & 1) != 0;
    const Plan plan = plan_of(costs, choice);
    all.emplace_back(plan.again.count(), plan.peak);
  }
  std::ranges::sort(all);
  for (const Found& one : all) {
    if (best.empty() || one.second < best.back().second) best.push_back(one);
  }
  return best;
}

// What the worker tells of a step with these passes.
Replays replayed(std::vector<BlockSegment> segments) {
  Replays made{.batch = 8, .times = {Ns{100}}, .start = Bytes{10}, .peak = Bytes{50}, .events = {}, .segments = std::move(segments)};
  made.again[0] = {.took = {Ns{7}}, .saved = 3};
  return made;
}

BlockSegment segment(std::int64_t block, bool backward, std::int64_t net, std::int64_t rise) {
  return {.block = block, .backward = backward, .net = Bytes{net}, .rise = Bytes{rise}};
}

}  // namespace

TEST_CASE("a script that checkpoints blocks itself gets no choice of them") {
  const Edited once = checkpointed(two_blocks());
  REQUIRE(once);
  CHECK(checkpoint_blocks(once->program).error().reason == "the script checkpoints blocks itself");
}

TEST_CASE("the best choices of blocks are those of trying all") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (std::size_t blocks = 1; blocks <= 16; ++blocks) {
    const int rounds = blocks <= 10 ? 10 : 1;  // 16 blocks have 65,536 choices
    for (int round = 0; round < rounds; ++round) {
      const StepCosts costs = random_costs(random, blocks);
      std::vector<Found> found;
      for (const Plan& plan : best_plans(costs)) {
        const Plan again = plan_of(costs, plan.checkpointed);
        CHECK((again.peak == plan.peak && again.again == plan.again));
        found.emplace_back(plan.again.count(), plan.peak);
      }
      CHECK(found == by_trying_all(costs));
    }
  }
}

TEST_CASE("the peak of a choice is the highest of its passes") {
  StepCosts costs{.start = 100, .before = {.net = 5, .rise = 6}, .after = {.net = 0, .rise = 9}, .blocks = std::vector<BlockCosts>(1)};
  costs.blocks[0].forward[0] = {Pass{.net = 40, .rise = 45}, Pass{.net = 2, .rise = 45}};
  costs.blocks[0].backward[0] = {Pass{.net = -38, .rise = 20}, Pass{.net = 0, .rise = 50}};
  costs.blocks[0].again = Ns{3};
  CHECK(plan_of(costs, {false}).peak == 100 + 5 + 40 + 20);
  CHECK(plan_of(costs, {true}).peak == 100 + 5 + 2 + 50);
  CHECK(plan_of(costs, {true}).again == Ns{3});
  CHECK_FALSE(peak_is_in_update(costs, {false}));
  costs.after.rise = 70;
  CHECK(plan_of(costs, {true}).peak == 100 + 5 + 2 + 70);
  CHECK(peak_is_in_update(costs, {true}));
}

TEST_CASE("costs are read from passes in the order of the step") {
  const std::vector<BlockSegment> line{segment(-1, false, 1, 2), segment(0, false, 30, 31), segment(0, true, -30, 5),
                                       segment(-1, true, 0, 4)};
  std::vector<BlockSegment> again = line;
  again[1].net = Bytes{3};
  const auto costs = costs_of({replayed(line), replayed(again)}, 1);
  REQUIRE(costs);
  CHECK(costs->start == 10);
  CHECK(costs->before.rise == 2);
  CHECK(costs->after.rise == 4);
  CHECK(costs->blocks[0].forward[0][0].net == 30);
  CHECK(costs->blocks[0].forward[0][1].net == 3);
  CHECK(costs->blocks[0].again >= Ns{7} + python_of({{0, {.took = {}, .saved = 3}}}));
  CHECK(without_second_runs(replayed(line)).times == std::vector<Ns>{Ns{93}});

  std::vector<BlockSegment> no_backward = line;
  no_backward.erase(no_backward.begin() + 2);
  CHECK(costs_of({replayed(no_backward), replayed(no_backward)}, 1).error().contains("one by one"));
}

TEST_CASE("Python's part grows with blocks and with the tensors that they save") {
  const auto block = [](std::int64_t saved) { return SecondRuns{.took = {}, .saved = saved}; };
  CHECK(python_of({}) == Ns{});
  CHECK(python_of({{0, block(9)}}) > python_of({{0, block(8)}}));
  CHECK(python_of({{0, block(0)}, {1, block(0)}}) == 2 * python_of({{0, block(0)}}));
}

TEST_CASE("four choices show every block beside each neighbour") {
  CHECK(samples(1).size() == 2);
  for (const bool before : {false, true}) {
    for (const bool itself : {false, true}) {
      for (std::size_t at = 1; at < 5; ++at) {
        CHECK(std::ranges::any_of(samples(5), [&](const Choice& one) { return one[at - 1] == before && one[at] == itself; }));
      }
    }
  }
}

TEST_CASE("blocks of one class are marked, with their result") {
  const Edited edited = checkpointed(two_blocks());
  REQUIRE(edited);
  CHECK(decode(encode(edited->program)));
  CHECK(edited->modules == std::vector<std::string>{"a", "b"});
  CHECK(edited->evidence.starts_with("2 blocks keep"));
  const auto found = names(edited->program);
  const std::vector<std::string> wanted{"block", "linear", "add", "block_end", "block", "linear", "add", "block_end", "sum", "backward"};
  std::vector<std::string> without_free;
  std::ranges::copy_if(found, std::back_inserter(without_free), [](const std::string& name) { return name != "free"; });
  CHECK(without_free == wanted);
  const auto end = std::ranges::find(edited->program.operators, OperatorKind::block_end, &Operator::kind);
  CHECK(tensor_of(argument(*end, 0, "")) == 4);
}

TEST_CASE("a block that cannot be checkpointed alone is none, and it is said why") {
  json twice = two_blocks();
  twice["operators"].insert(twice["operators"].begin() + 1, op("aten::linear", {t(0), t(1)}, 8, 2, 9));
  const Edited other = checkpointed(twice);
  REQUIRE(other);
  CHECK(other->modules == std::vector<std::string>{"b"});

  json used_later = two_blocks();
  used_later["operators"][4]["args"] = json::array({t(6), t(5), t(3)});
  CHECK(reason(used_later).contains("2 tensors"));

  json in_place = two_blocks();
  for (const int at : {0, 2}) in_place["operators"][at]["out"] = in_place["operators"][at]["args"][0]["t"];
  in_place["operators"][1]["args"] = {t(0), t(0)};
  in_place["operators"][3]["args"] = {t(4), t(4)};
  in_place["operators"][5]["args"] = {4, 6};
  CHECK(reason(in_place).contains("in place"));

  json single = two_blocks();
  single["modules"][3]["class"] = "Other";
  CHECK(reason(single).contains("more than once"));

  json no_pass = two_blocks();
  no_pass["operators"].erase(6);
  CHECK(reason(no_pass).contains("backward pass"));
}

TEST_CASE("a batch norm in a block is warned about") {
  json norms = two_blocks();
  norms["operators"][1] = op("aten::batch_norm", {t(3), t(1), nullptr, t(1), t(1), true, 0.1, 1e-5, false}, 4, 2, 1);
  const Edited edited = checkpointed(norms);
  REQUIRE(edited);
  CHECK(edited->evidence.contains("1 batch norm in them updates its running statistics twice"));
}

TEST_CASE("a curve is a table for people and a list for scripts") {
  WhatIf item{.kind = "checkpoint", .title = "Blocks run again", .where = {}, .time = Ratio{1.2, 1.1, 1.3}};
  item.curve = Curve{.blocks = 3,
                     .points = {{.blocks = {}, .peak = Bytes{80'000'000}, .step = Ns{10'000'000}, .time = {}},
                                {.blocks = {"a", "b"}, .peak = Bytes{60'000'000}, .step = Ns{12'000'000}, .time = item.time}},
                     .chosen = 1,
                     .budget = Bytes{50'000'000},
                     .within = false,
                     .note = "more is not there"};
  WhatIfs all{.profile = "one", .check = {}, .items = {item}, .refused = {}, .faults = {}};
  const std::string text = as_text(all, false);
  CHECK(text.contains("80.0 MB"));
  CHECK(text.contains("none"));
  CHECK(text.contains("→   60.0 MB    12.0 ms  a, b"));
  CHECK(text.contains("no choice stays within 50.0 MB: the lowest peak is 60.0 MB"));
  CHECK(text.contains("more is not there"));
  const json curve = json::parse(as_json(all))["items"][0]["curve"];
  CHECK(curve["blocks"] == 3);
  CHECK(curve["chosen"] == 1);
  CHECK(curve["budget_bytes"] == 50'000'000);
  CHECK(curve["within_budget"] == false);
  CHECK(curve["points"][0]["ratio"] == 1.0);
  CHECK(curve["points"][1]["blocks"] == json{"a", "b"});
  CHECK(curve["points"][1]["peak_bytes"] == 60'000'000);
}

namespace {

WhatIfs planned() {
  WhatIf item{.kind = "checkpoint", .title = "Blocks run again", .where = SourceLine{"/w/train.py", 7}, .time = Ratio{1.2, 1.1, 1.3}};
  item.curve = Curve{.blocks = 3,
                     .points = {{.blocks = {}, .peak = Bytes{80'000'000}, .step = Ns{10'000'000}, .time = {}},
                                {.blocks = {"a", "b"}, .peak = Bytes{60'000'000}, .step = Ns{12'000'000}, .time = item.time}},
                     .chosen = 1,
                     .budget = {},
                     .within = true,
                     .note = "more is not there"};
  const WhatIf other{.kind = "channels_last", .title = "other", .where = {}, .time = {}};
  return {.profile = "one", .check = {}, .items = {other, item}, .refused = {{"gelu_tanh", {.reason = "no"}}}, .faults = {}};
}

}  // namespace

TEST_CASE("a curve is found again in its bundle, without what else was asked") {
  const test::Folder bundle;
  CHECK(!read_kept_checkpoints(bundle.root, "one"));
  const std::string text = checkpoints_to_keep(planned());
  CHECK(!text.contains("channels_last"));
  CHECK(!text.contains("gelu_tanh"));
  bundle.write("checkpoints.json", text);
  CHECK(!read_kept_checkpoints(bundle.root, "another"));
  const auto kept = read_kept_checkpoints(bundle.root, "one");
  REQUIRE(kept);
  CHECK(kept->refused.empty());
  CHECK(kept->where->file == "/w/train.py");
  CHECK(kept->where->line == 7);
  CHECK(kept->curve.blocks == 3);
  CHECK(kept->curve.note == "more is not there");
  REQUIRE(kept->curve.points.size() == 2);
  CHECK(!kept->curve.points[0].time);
  CHECK(kept->curve.points[1].blocks == std::vector<std::string>{"a", "b"});
  CHECK(kept->curve.points[1].step == Ns{12'000'000});
  CHECK(kept->curve.points[1].time->high == 1.3);
}

TEST_CASE("why there is no curve is kept, and nothing where checkpoints were not asked for") {
  const test::Folder bundle;
  WhatIfs none{.profile = "one", .check = {}, .items = {}, .refused = {{"checkpoint", {.reason = "the peak is elsewhere"}}}, .faults = {}};
  bundle.write("checkpoints.json", checkpoints_to_keep(none));
  const auto kept = read_kept_checkpoints(bundle.root, "one");
  REQUIRE(kept);
  CHECK(kept->curve.points.empty());
  CHECK(kept->refused == "the peak is elsewhere");
  none.refused.clear();
  CHECK(checkpoints_to_keep(none).empty());
}

TEST_CASE("where the peak is in the optimizer the form of it that lowers the peak is kept instead, and nothing else") {
  const test::Folder bundle;
  WhatIfs all{.profile = "one", .check = {}, .items = {}, .refused = {}, .faults = {}};
  all.refused.push_back({"checkpoint", {.reason = "the peak is in the optimizer"}, "fused_optimizer"});
  WhatIf fused{.kind = "fused_optimizer", .title = "<b>", .evidence = {}, .assumes = {}, .modules = {}, .parts = {}};
  fused.time = Ratio{.ratio = 0.9, .low = 0.85, .high = 0.95};
  fused.step_was = Ns{10'000'000};
  fused.peak_was = Bytes{84'000'000};
  fused.peak = Bytes{72'000'000};
  const auto kept = [&](const WhatIf& item) {
    all.items = {item};
    bundle.write("checkpoints.json", checkpoints_to_keep(all));
    return read_kept_checkpoints(bundle.root, "one");
  };
  const auto read = kept(fused);
  REQUIRE(read);
  REQUIRE(read->instead);
  CHECK(read->refused == "the peak is in the optimizer");
  CHECK(read->instead->title == "Optimizer with fused=True");  // whatever the file says
  CHECK(read->instead->peak == Bytes{72'000'000});
  CHECK(read->instead->step == Ns{9'000'000});
  WhatIf other = fused;
  other.peak = Bytes{90'000'000};
  CHECK_FALSE(kept(other)->instead);
  all.refused[0].instead = other.kind = "no_dropout";
  other.peak = fused.peak;
  CHECK_FALSE(kept(other)->instead);
  all.refused[0].instead.clear();
  CHECK_FALSE(kept(fused)->instead);
}
