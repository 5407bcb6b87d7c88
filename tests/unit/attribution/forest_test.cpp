#include "annotator/attribution/structure/forest.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

TEST_CASE("nodes nest by time, whatever their order in the file") {
  const Script script = Script().op("inner", 2, 3).op("sibling", 6, 1).op("outer", 1, 8).op("after", 9, 1);
  const Read read(script);
  CHECK(read.forest.parent[read.node("inner")] == read.node("outer"));
  CHECK(read.forest.parent[read.node("sibling")] == read.node("outer"));
  CHECK(read.forest.parent[read.node("after")] == kNoNode);
}

TEST_CASE("at the same start the longer is outside, and of equals the first in the file") {
  const Script script = Script().op("short", 1, 2).op("first", 1, 8).op("second", 1, 8);
  const Read read(script);
  CHECK(read.forest.parent[read.node("first")] == kNoNode);
  CHECK(read.forest.parent[read.node("second")] == read.node("first"));
  CHECK(read.forest.parent[read.node("short")] == read.node("second"));
}

TEST_CASE("threads do not nest in each other") {
  const Script script = Script().op("main", 1, 9).op("worker", 2, 3, {.thread = 1});
  const Read read(script);
  CHECK(read.forest.parent[read.node("worker")] == kNoNode);
  CHECK(read.forest.threads.size() == 2);
}

TEST_CASE("a child that outlasts its parent ends with it") {
  const Script script = Script().op("parent", 1, 4).op("child", 3, 5);
  const Read read(script);
  CHECK(read.forest.end[read.node("child")] == us(5));
}

TEST_CASE("ranges that mean nothing to us and plain Python frames are no nodes") {
  const Script script = Script().range("## mine ##", 0, 9).frame("train.py(3): step", 0, 9).frame("nn.Module: Linear_0", 1, 3);
  const Read read(script);
  REQUIRE(read.forest.size() == 1);
  CHECK(read.forest.kind[0] == Kind::frame);
}

TEST_CASE("markers and torch's own ranges are understood, malformed ones are not") {
  CHECK(meaning_of_range("hotlens.call#12").kind == Kind::call);
  CHECK(meaning_of_range("hotlens.call#12").value == 12);
  CHECK(meaning_of_range("hotlens.line#0").kind == Kind::line);
  CHECK(meaning_of_range("hotlens.param#3").kind == Kind::param);
  CHECK(meaning_of_range("hotlens.stage#backward").value == static_cast<std::uint32_t>(Stage::backward));
  CHECK(meaning_of_range("ProfilerStep#7").value == 7);
  CHECK(meaning_of_range("Optimizer.step#SGD.step").value == static_cast<std::uint32_t>(Stage::optimizer));
  for (const char* name : {"hotlens.call#", "hotlens.call#-1", "hotlens.call#99999999999", "hotlens.stage#lunch", "ProfilerStep#x", ""}) {
    CAPTURE(name);
    CHECK(meaning_of_range(name).kind == Kind::none);
  }
}
