// No block is narrower than what lies inside it: on random traces, and on the real ones where HOTLENS_TRACES names their folder.
#include <map>

#include "annotator/blocks/blocks.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"
#include "tests/unit/profile/random_trace.h"
#include "tests/unit/traces.h"

using namespace hotlens;
using namespace hotlens::blocks;
using namespace hotlens::profile;

namespace {

struct Inside {
  Ns host{}, device{}, waiting{};
};

void check_nesting(const std::shared_ptr<const Annotated>& annotated) {
  for (std::size_t step = 0; step < annotated->steps.spans.size(); ++step) {
    const auto blocks = blocks_of(annotated, step);
    std::vector<Inside> inside(blocks->blocks.size());
    for (std::uint32_t at = 0; at < blocks->blocks.size(); ++at) {
      for (const std::uint32_t child : blocks->below(at)) {
        const Block& part = blocks->blocks[child];
        if (at == kStepBlock && part.kind == Block::Kind::earlier) continue;
        inside[at].host += part.host;
        inside[at].device += part.device;
        inside[at].waiting += part.waiting;
        // The step's own host time is that of its main thread.
        if (at != kStepBlock) REQUIRE(part.host <= blocks->blocks[at].host);
        REQUIRE(part.first >= blocks->blocks[at].first);
        REQUIRE(part.last <= blocks->blocks[at].last);
        if (part.kind == Block::Kind::module && blocks->blocks[at].kind == Block::Kind::module) {
          REQUIRE(part.direction == blocks->blocks[at].direction);
        }
      }
    }
    for (std::uint32_t at = 1; at < blocks->blocks.size(); ++at) {
      const Block& block = blocks->blocks[at];
      REQUIRE(inside[at].host <= block.host);
      REQUIRE(inside[at].device <= block.device);
      REQUIRE(inside[at].waiting <= block.waiting);
      REQUIRE(block.waiting <= block.host);
      REQUIRE(blocks->index.device[at] <= block.device);
    }
    REQUIRE(inside[kStepBlock].device == blocks->blocks[kStepBlock].device);
  }
}

}  // namespace

TEST_CASE("a module that two layers call is a block inside each, no wider than they are") {
  attribution::Script script;
  script.range("ProfilerStep#0", 0, 300);
  script.frame("nn.Module: Net_0", 0, 200);
  for (const int layer : {0, 1}) {
    const int at = layer * 100;
    script.frame("nn.Module: Layer_" + std::to_string(layer), at + 5, 80);
    script.frame("nn.Module: Rotary_0", at + 10, 30).op("aten::cos", at + 12, 20);
    script.launch(layer + 1, at + 15, 5).kernel("cos", layer + 1, at + 20, 10);
  }
  const auto annotated = annotated_of(script);
  check_nesting(annotated);
  const auto blocks = blocks_of(annotated, 0);
  std::map<std::string, Ns> device;
  for (std::uint32_t at = 0; at < blocks->blocks.size(); ++at) {
    if (blocks->blocks[at].kind == Block::Kind::module) device[name_of(*blocks, at)] = blocks->blocks[at].device;
  }
  CHECK(device.at("Net_0/Layer_0/Rotary_0") == attribution::us(10));
  CHECK(device.at("Net_0/Layer_1/Rotary_0") == attribution::us(10));
  CHECK(device.at("Net_0/Layer_1") == attribution::us(10));
}

TEST_CASE("in random traces no block is narrower than what lies inside it") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    check_nesting(annotated_of(RandomTrace(seed).draw()));
  }
}

TEST_CASE("in real traces no block is narrower than what lies inside it") {
  for (const std::filesystem::path& file : tests::traces(tests::kReal, "what lies inside blocks")) {
    CAPTURE(file);
    auto annotated = annotate(file);
    REQUIRE(annotated.has_value());
    check_nesting(std::make_shared<const Annotated>(std::move(*annotated)));
  }
}
