#include "tests/unit/catch.h"
#include "tests/unit/ranks/records.h"

namespace hotlens::ranks {
namespace {

const Doing kForward{.stage = Stage::forward};
const Doing kData{.stage = Stage::data};

TEST_CASE("time in a collective is waiting until the last has come, and transferring from then on") {
  const RankSet set = together({Story(0).step(0, 0, 1000).collective(200, 900), Story(1).step(0, 0, 1000).collective(700, 900)});
  REQUIRE(set.collectives.size() == 1);
  CHECK(set.collectives[0].last == 1);
  CHECK(set.collectives[0].late == us(500));
  CHECK(set.ranks[0].waiting[0] == us(500));
  CHECK(set.ranks[0].transferring[0] == us(200));
  CHECK(set.ranks[1].waiting[0] == Ns{});
  CHECK(set.ranks[1].transferring[0] == us(200));
}

TEST_CASE("processes of a group that are not here are said, since one of them may have come last") {
  RankRecord first = Story(0).step(0, 0, 1000).collective(200, 900), second = Story(1).step(0, 0, 1000).collective(700, 900);
  CHECK(together({first, second}).issues.empty());
  first.collectives[0].group_size = second.collectives[0].group_size = 8;
  const RankSet set = together({first, second});
  REQUIRE(set.issues.size() == 1);
  CHECK(set.issues[0].code == "absent-ranks");
  CHECK(set.issues[0].message.starts_with("collectives with 2 of 8 processes here"));
}

TEST_CASE("waiting beside which the rank works is not counted") {
  const RankSet set =
      together({Story(0).step(0, 0, 1000).busy(100, 500).collective(200, 900), Story(1).step(0, 0, 1000).collective(700, 900)});
  CHECK(set.ranks[0].waiting[0] == us(200));
}

TEST_CASE("what of a collective other work hides, and what nothing does, is its whole time") {
  const RankSet set =
      together({Story(0).step(0, 0, 1000).busy(100, 500).collective(200, 900), Story(1).step(0, 0, 1000).collective(700, 900)});
  REQUIRE(set.collectives.size() == 1);
  CHECK(set.collectives[0].hidden == std::vector<Ns>{us(300), us(0)});
  CHECK(set.collectives[0].exposed == std::vector<Ns>{us(400), us(200)});
}

TEST_CASE("the rank that works longest is told beside the mean of all, its waiting left out") {
  const RankSet set = together({Story(0).step(0, 0, 1000).collective(200, 900), Story(1).step(0, 0, 1000).collective(700, 900)});
  const auto most = imbalance(set);  // rank 0 waits for 500
  REQUIRE(most);
  CHECK(most->rank == 1);
  CHECK(most->own == us(1000));
  CHECK(most->mean == us(750));
  CHECK(most->ratio() == Approx(4.0 / 3));
  CHECK_FALSE(imbalance(together({Story(0).step(0, 0, 1000)})));
}

TEST_CASE("waiting in two collectives at once counts once") {
  const RankSet set = together({Story(0).step(0, 0, 1000).collective(200, 800).collective(300, 900),
                                Story(1).step(0, 0, 1000).collective(600, 800).collective(700, 900)});
  CHECK(set.ranks[0].waiting[0] == us(500));
}

TEST_CASE("the sender of a broadcast waits for nobody") {
  const RankSet set =
      together({Story(0).step(0, 0, 1000).collective(200, 300, "broadcast"), Story(1).step(0, 0, 1000).collective(700, 800, "broadcast")});
  CHECK(set.ranks[0].waiting[0] == Ns{});
}

TEST_CASE("the late rank's delay is in what it did longer than the others") {
  const RankSet set = together({Story(0)
                                    .modules({"", "layer"})
                                    .step(0, 0, 1000)
                                    .spent(kData, 50)
                                    .spent({.stage = Stage::forward, .module = 1}, 100)
                                    .collective(200, 900),
                                Story(1)
                                    .modules({"other", "layer"})
                                    .step(0, 0, 1000)
                                    .spent(kData, 60)
                                    .spent({.stage = Stage::forward, .module = 1}, 590)
                                    .collective(700, 900),
                                Story(2)
                                    .modules({"", "layer"})
                                    .step(0, 0, 1000)
                                    .spent(kData, 50)
                                    .spent({.stage = Stage::forward, .module = 1}, 110)
                                    .collective(210, 900)});
  const auto late = straggler(set);
  REQUIRE(late);
  CHECK(set.ranks[late->rank].rank == 1);
  CHECK(late->cost == us(500));
  CHECK(words_of(set, late->culprit) == "forward of layer");
  CHECK(late->culprit.longer == us(485));  // against the median of 100 and 110
}

TEST_CASE("what lies before the last collective that all have left does not count") {
  const RankSet set =
      together({Story(0).step(0, 0, 2000).spent(kData, 100).collective(200, 700).spent(kForward, 100).collective(800, 1700),
                Story(1).step(0, 0, 2000).spent(kData, 500).collective(600, 700).spent(kForward, 800).collective(1500, 1700)});
  REQUIRE(set.late.size() == 1);
  CHECK(words_of(set, set.late[0].culprit) == "forward");
}

TEST_CASE("a rank that is late because it waited in another group is not to blame") {
  // 2 is late for 1 in the group "b"; 1 is then late for 0 in the group "a".
  const Doing waits{.stage = Stage::forward, .communicates = true};
  const RankSet set = together({Story(0).step(0, 0, 2000).spent(kForward, 100).collective(100, 1500, "all_reduce", "a"),
                                Story(1)
                                    .step(0, 0, 2000)
                                    .spent(kForward, 100)
                                    .collective(100, 1000, "all_reduce", "b")
                                    .spent(waits, 900)
                                    .collective(1010, 1500, "all_reduce", "a"),
                                Story(2).step(0, 0, 2000).spent(kData, 900).collective(900, 1000, "all_reduce", "b")});
  const auto late = straggler(set);
  REQUIRE(late);
  CHECK(set.ranks[late->rank].rank == 2);
  CHECK(late->culprit.doing.stage == Stage::data);
}

TEST_CASE("ranks that are late in turn have no straggler") {
  const RankSet set = together({Story(0).step(0, 0, 1000).collective(200, 900).step(1, 1000, 2000).collective(1700, 1900),
                                Story(1).step(0, 0, 1000).collective(700, 900).step(1, 1000, 2000).collective(1200, 1900)});
  CHECK(set.late.size() == 2);
  CHECK_FALSE(straggler(set));
}

TEST_CASE("a collective that one rank alone recorded is left out and counted") {
  const RankSet set =
      together({Story(0).step(0, 0, 1000).collective(200, 900).collective(910, 920), Story(1).step(0, 0, 1000).collective(700, 900)});
  CHECK(set.collectives.size() == 1);
  REQUIRE(set.issues.size() == 1);
  CHECK(set.issues[0].count == 1);
}

TEST_CASE("bandwidths are those of nccl-tests") {
  Shared shared{.operation = "all_reduce", .group_size = 4, .bytes = Bytes{8000}, .last_start = us(100), .end = us(108)};
  CHECK(bandwidth(shared)->algorithm == 1e9);
  CHECK(bandwidth(shared)->bus == 1.5e9);
  shared.operation = "all_gather";
  CHECK(bandwidth(shared)->bus == 0.75e9);
  shared.operation = "broadcast";
  CHECK(bandwidth(shared)->bus == 1e9);
  shared.group_size = std::nullopt;
  CHECK_FALSE(bandwidth(shared));
}

}  // namespace
}  // namespace hotlens::ranks
