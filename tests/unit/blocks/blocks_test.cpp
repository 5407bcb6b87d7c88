#include "annotator/blocks/blocks.h"

#include <map>
#include <set>

#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::blocks;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;
using Kind = Block::Kind;

namespace {

std::uint32_t find(const Blocks& blocks, Kind kind, std::string_view name, std::size_t nth = 0) {
  for (std::uint32_t at = 0; at < blocks.blocks.size(); ++at) {
    if (blocks.blocks[at].kind == kind && name_of(blocks, at) == name && nth-- == 0) return at;
  }
  FAIL("no block " << name);
  return kNoBlock;
}

std::vector<std::string> labels_below(const Blocks& blocks, std::uint32_t block, std::uint32_t track) {
  std::vector<std::string> labels;
  for (const BlockGroup& group : blocks.groups_below(block)) {
    if (group.track != track) continue;
    for (std::uint32_t span = group.begin; span < group.end; ++span) labels.push_back(label_of(blocks, blocks.span_block[span]));
  }
  return labels;
}

// Every span of the tree, folds left out, with its track.
std::map<std::uint32_t, Ns> widths(const Blocks& blocks) {
  std::map<std::uint32_t, Ns> sums;
  for (const BlockGroup& group : blocks.groups) {
    for (std::uint32_t span = group.begin; span < group.end; ++span) {
      if (blocks.blocks[blocks.span_block[span]].kind == Kind::fold) continue;
      sums[blocks.span_block[span]] += blocks.span_end[span] - blocks.span_start[span];
    }
  }
  return sums;
}

Script device_script() {
  Script script;
  script.range("ProfilerStep#7", 0, 200);
  script.frame("nn.Module: Net_0", 10, 100);
  script.frame("nn.Module: Linear_0", 20, 50);
  script.op("aten::linear", 25, 40).launch(1, 30, 5).kernel("gemm", 1, 50, 60);
  script.op("aten::relu", 75, 20).launch(2, 80, 5).kernel("relu", 2, 120, 90);
  return script;
}

}  // namespace

TEST_CASE("host and device work of a module hang below one block, on one axis") {
  const auto blocks = blocks_of(annotated_of(device_script()), 0);
  REQUIRE(blocks->tracks.size() == 2);
  CHECK(blocks->tracks[0].name == "CPU main");
  const std::uint32_t linear = find(*blocks, Kind::module, "Net_0/Linear_0");
  CHECK(blocks->blocks[linear].host == us(50));
  CHECK(blocks->blocks[linear].device == us(60));
  CHECK(blocks->blocks[linear].first == us(20));
  CHECK(blocks->blocks[linear].last == us(110));
  CHECK(labels_below(*blocks, linear, 0) == std::vector<std::string>{"no operator", "aten::linear", "no operator"});
  const std::uint32_t op = find(*blocks, Kind::op, "aten::linear");
  CHECK(name_of(*blocks, blocks->below(op).back()) == "gemm");
  CHECK(blocks->blocks[kStepBlock].last == us(210));  // the device is still at work when the host's step ends
}

TEST_CASE("a path leads back to its block, by names") {
  const auto blocks = blocks_of(annotated_of(device_script()), 0);
  for (std::uint32_t at = 0; at < blocks->blocks.size(); ++at) {
    if (blocks->blocks[at].kind == Kind::idle) continue;
    CHECK(find_block(*blocks, path_of(*blocks, at)) == at);
  }
  CHECK(path_of(*blocks, find(*blocks, Kind::op, "aten::relu")).back() == "aten::relu");
  CHECK_FALSE(find_block(*blocks, std::vector<std::string>{"forward", "nobody"}).has_value());
}

TEST_CASE("a model that is all there is in its stage costs no level") {
  const auto wrapped = blocks_of(annotated_of(device_script()), 0);
  const std::uint32_t model = find(*wrapped, Kind::module, "Net_0"), linear = find(*wrapped, Kind::module, "Net_0/Linear_0");
  const std::uint32_t stage = wrapped->blocks[model].parent;
  CHECK(wrapped->lifted.at(stage) == model);
  CHECK(path_of(*wrapped, linear) == std::vector<std::string>{"forward", "Linear_0"});
  CHECK(find_block(*wrapped, std::vector<std::string>{"forward", "Net_0", "Linear_0"}) == linear);
  CHECK(path_of(*wrapped, model) == std::vector<std::string>{"forward", "Net_0"});
  CHECK(way_to(*wrapped, linear) == std::vector<std::uint32_t>{kStepBlock, stage, linear});

  Script two = device_script();
  two.frame("nn.Module: Other_0", 120, 50).frame("nn.Module: Linear_1", 125, 40).op("aten::linear", 130, 10);
  CHECK(blocks_of(annotated_of(two), 0)->lifted.empty());

  Script leaf;
  leaf.range("ProfilerStep#7", 0, 200).frame("nn.Module: Linear_0", 20, 50).op("aten::linear", 25, 40);
  CHECK(blocks_of(annotated_of(leaf), 0)->lifted.empty());
}

TEST_CASE("a model whose name something inside it has is not left out of paths") {
  Script script;
  script.range("ProfilerStep#7", 0, 200);
  script.frame("nn.Module: model_0", 10, 100).frame("nn.Module: model_0", 20, 50).op("aten::linear", 25, 40);
  const auto blocks = blocks_of(annotated_of(script), 0);
  for (std::uint32_t at = 0; at < blocks->blocks.size(); ++at) {
    if (blocks->blocks[at].kind != Kind::idle) CHECK(find_block(*blocks, path_of(*blocks, at)) == at);
  }
}

TEST_CASE("equal neighbours fold, and their paths may leave the fold out") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int at = 0; at < 5; ++at) script.op("aten::mul", 10 + at * 20, 15 + at);
  script.op("aten::add", 200, 10);
  const auto blocks = blocks_of(annotated_of(script), 0);
  const std::uint32_t fold = find(*blocks, Kind::fold, "aten::mul");
  CHECK(label_of(*blocks, fold) == "aten::mul ×5");
  CHECK(blocks->blocks[fold].host == us(15 + 16 + 17 + 18 + 19));
  CHECK(folded(*blocks, fold).size() == 5);
  CHECK(blocks->opens(fold));
  const std::uint32_t third = find(*blocks, Kind::op, "aten::mul", 2);
  const std::vector<std::string> path = path_of(*blocks, third);
  CHECK(find_block(*blocks, path) == third);
  CHECK(find_block(*blocks, std::vector<std::string>{"forward", path.back()}) == third);
  CHECK(find_block(*blocks, std::vector<std::string>{"forward", segment_of(*blocks, fold)}) == fold);
}

TEST_CASE("a fold ends where its members do: what runs between them in another stage is not its own") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int at = 0; at < 3; ++at) {
    script.frame("nn.Module: Net_0", at * 300, 100).op("aten::relu", at * 300 + 10, 80);
    script.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at * 300 + 150, 100);
  }
  const auto blocks = blocks_of(annotated_of(script), 0);
  const std::uint32_t fold = find(*blocks, Kind::fold, "Net_0");
  Ns drawn{};
  for (const BlockGroup& group : blocks->groups_below(blocks->blocks[fold].parent)) {
    for (std::uint32_t span = group.begin; span < group.end; ++span) {
      if (blocks->span_block[span] == fold) drawn += blocks->span_end[span] - blocks->span_start[span];
    }
  }
  CHECK(drawn == us(300));
}

TEST_CASE("work of an earlier step stands apart and does not stretch the step") {
  Script script;
  script.range("ProfilerStep#0", 0, 100).range("ProfilerStep#1", 100, 100);
  script.op("aten::a", 10, 20).launch(1, 15, 5).kernel("late", 1, 90, 50);
  script.op("aten::b", 110, 20).launch(2, 115, 5).kernel("own", 2, 150, 30);
  const auto blocks = blocks_of(annotated_of(script), 1);
  const std::uint32_t earlier = find(*blocks, Kind::earlier, "earlier step");
  CHECK(blocks->blocks[earlier].device == us(50));
  CHECK(blocks->blocks[earlier].first == us(-10));
  CHECK(blocks->blocks[kStepBlock].first == us(0));
  CHECK(blocks->blocks[kStepBlock].device == us(30));
}

TEST_CASE("names of 10 kB are cut between characters, in labels and in paths") {
  std::string name;
  while (name.size() < 10000) name += "ü\u2028<script>";
  Script script;
  script.range("ProfilerStep#0", 0, 100).op(name, 10, 20).op(name + "x", 40, 20);
  const auto blocks = blocks_of(annotated_of(script), 0);
  for (const std::uint32_t child : blocks->below(kStepBlock)) {
    if (blocks->blocks[child].kind != Kind::op) continue;
    const std::string label = label_of(*blocks, child);
    CHECK(label.size() <= 200);
    CHECK_NOTHROW(Json(label).dump());  // throws for broken UTF-8
    CHECK(segment_of(*blocks, child).size() <= 100);
    CHECK(find_block(*blocks, path_of(*blocks, child)) == child);
  }
}

// Everything below the block, folds left out, by walking there.
std::vector<std::uint32_t> walked(const Blocks& blocks, std::uint32_t block) {
  std::vector<std::uint32_t> found = blocks.blocks[block].kind == Kind::fold ? folded(blocks, block) : std::vector{block};
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const std::uint32_t child : blocks.below(found[at])) {
      if (blocks.blocks[child].kind != Kind::earlier) found.push_back(child);
    }
  }
  return found;
}

bool is_work(Kind kind) {
  return kind == Kind::kernel || kind == Kind::copy || kind == Kind::communication;
}

// Microseconds in which any of the work runs.
Ns union_of(const Blocks& blocks, const std::vector<std::uint32_t>& below) {
  std::set<std::int64_t> busy;
  for (const std::uint32_t at : below) {
    if (!is_work(blocks.blocks[at].kind)) continue;
    const attribution::Work& work = blocks.annotated->account.work[blocks.blocks[at].id];
    for (Ns now = work.start; now < work.end; now += us(1)) busy.insert(now.count());
  }
  return us(static_cast<std::int64_t>(busy.size()));
}

TEST_CASE("what the index says of a subtree is what a walk through it finds") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 30)));
  CAPTURE(seed);
  const auto annotated = annotated_of(RandomTrace(seed).draw());
  const auto blocks = blocks_of(annotated, 1);
  const BlockIndex& index = blocks->index;
  for (std::uint32_t block = 0; block < blocks->blocks.size(); ++block) {
    CAPTURE(block);
    const std::vector<std::uint32_t> below = walked(*blocks, block);
    CHECK(index.device[block] == union_of(*blocks, below));
    std::map<std::pair<std::uint32_t, Kind>, std::int64_t> calls;
    Ns host{}, own{};
    for (const std::uint32_t at : below) {
      const Block& of = blocks->blocks[at];
      CHECK(index.ranks[block].hold(index.ranks[at].begin));
      ++calls[{of.label, of.kind}];
      const std::uint32_t parent = of.parent == kNoBlock ? kStepBlock : of.parent;
      const Block& around = blocks->blocks[blocks->blocks[parent].kind == Kind::fold ? blocks->blocks[parent].parent : parent];
      if (of.kind == Kind::op && (around.kind != Kind::op || at == block)) host += of.host;
    }
    for (const BlockIndex::Name& name : index.names) {
      const BlockIndex::Sum sum = index.sum(name, index.ranks[block]);
      const bool between = name.kind == Kind::idle;  // the time between the members of a fold is the fold's
      if (!between) CHECK(sum.calls == calls[{name.label, name.kind}]);
      if (name.kind == Kind::op) own += sum.own;
      CHECK(index.named(name.kind, name.label) == &name);
    }
    // Own times of operators add up to the time of the outermost ones.
    if (blocks->blocks[block].kind == Kind::step || blocks->blocks[block].kind == Kind::module) CHECK(own == host);
  }
  CHECK(index.named(Kind::step, blocks->labels) == nullptr);
}

TEST_CASE("in random traces every block is as wide as its events") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 40)));
  CAPTURE(seed);
  const auto annotated = annotated_of(RandomTrace(seed).draw());
  std::map<std::uint32_t, int> kernels;
  for (std::size_t step = 0; step < annotated->account.steps.size(); ++step) {
    const auto blocks = blocks_of(annotated, step);
    const std::map<std::uint32_t, Ns> drawn = widths(*blocks);
    Ns main{};
    for (const auto& [block, width] : drawn) {
      const Block& of = blocks->blocks[block];
      if (of.kind == Kind::idle) continue;  // between the members of a fold it is the fold's
      CHECK(width == of.host + of.device);
      const bool ran_here = of.host > Ns{};  // else it is known by its kernels alone, which run late
      if (ran_here && (of.kind == Kind::op || of.kind == Kind::launch))
        CHECK(of.host == annotated->forest.end[of.id] - annotated->forest.start[of.id]);
      if (of.kind == Kind::kernel) {
        CHECK(width == annotated->account.work[of.id].end - annotated->account.work[of.id].start);
        if (blocks->blocks[of.parent].kind != Kind::earlier) ++kernels[of.id];
      }
      CHECK(find_block(*blocks, path_of(*blocks, block)).has_value());
    }
    for (const BlockGroup& group : blocks->groups) {
      for (std::uint32_t span = group.begin + 1; span < group.end; ++span) CHECK(blocks->span_end[span - 1] <= blocks->span_start[span]);
    }
    for (const BlockGroup& group : blocks->groups_below(kStepBlock)) {
      if (group.track != 0) continue;
      for (std::uint32_t span = group.begin; span < group.end; ++span) main += blocks->span_end[span] - blocks->span_start[span];
    }
    CHECK(main == blocks->wall);  // the main thread's time is covered, each moment once
  }
  std::size_t launched = 0;
  for (const auto& step : annotated->account.steps) launched += step.launched.size();
  CHECK(kernels.size() >= launched);
}

TEST_CASE("an autograd node and what evaluates it are one block") {
  Script script;
  script.range("ProfilerStep#7", 0, 200);
  script.op("autograd::engine::evaluate_function: AddmmBackward0", 50, 60);
  script.op("AddmmBackward0", 55, 50).op("AddmmBackward0", 56, 48).op("aten::mm", 60, 30);
  script.launch(1, 65, 5).kernel("gemm", 1, 80, 40);
  const auto blocks = blocks_of(annotated_of(script), 0);
  const std::uint32_t node = find(*blocks, Kind::op, "autograd::engine::evaluate_function: AddmmBackward0");
  CHECK(label_of(*blocks, node) == "AddmmBackward0");
  CHECK(blocks->blocks[node].host == us(60));
  const std::uint32_t product = find(*blocks, Kind::op, "aten::mm");
  CHECK(blocks->blocks[product].parent == node);
  for (const Block& block : blocks->blocks) {
    const auto at = static_cast<std::uint32_t>(&block - blocks->blocks.data());
    CHECK(name_of(*blocks, at) != "AddmmBackward0");
  }
  // An address from before names both.
  std::vector<std::string> path = path_of(*blocks, node);
  path.insert(path.end(), {"AddmmBackward0", "aten::mm"});
  CHECK(find_block(*blocks, path) == product);
  path.back() = "aten::add";
  CHECK(!find_block(*blocks, path));
}
