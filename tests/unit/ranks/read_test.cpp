#include "annotator/ranks/read.h"

#include "tests/unit/catch.h"
#include "tests/unit/ranks/files.h"
#include "tests/unit/traces.h"

namespace hotlens::ranks {
namespace {

namespace fs = std::filesystem;

std::string of_rank(int rank, int world) {
  return R"("distributedInfo":{"backend":"gloo","rank":)" + std::to_string(rank) + R"(,"world_size":)" + std::to_string(world) + "},";
}

constexpr const char* kEvents = R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":50})";

TEST_CASE("ranks come in their order, whatever the order of their files") {
  const TraceFile a("a", kEvents, of_rank(1, 2)), b("b", kEvents, of_rank(0, 2));
  const Result<Ranks> ranks = read(std::vector<Source>{{a.path(), {}}, {b.path(), {}}});
  REQUIRE(ranks);
  CHECK(ranks->set.ranks[0].rank == 0);
  CHECK(ranks->sources[0].path == b.path());
  CHECK(ranks->position(1) == 1);
  CHECK_FALSE(ranks->position(2));
}

TEST_CASE("two recordings of one rank, or of different runs, are not put together") {
  const TraceFile a("a", kEvents, of_rank(0, 2)), b("b", kEvents, of_rank(0, 2)), c("c", kEvents, of_rank(1, 4));
  const Result<Ranks> twice = read(std::vector<Source>{{a.path(), {}}, {b.path(), {}}});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message.contains("of rank 0"));
  const Result<Ranks> strangers = read(std::vector<Source>{{a.path(), {}}, {c.path(), {}}});
  REQUIRE_FALSE(strangers);
  CHECK(strangers.error().message.contains("not of one run"));
}

TEST_CASE("a recording that cannot be read costs that rank and is said") {
  const TraceFile a("a", kEvents, of_rank(0, 2)), b("b", "", of_rank(1, 2));
  const Result<Ranks> ranks = read(std::vector<Source>{{a.path(), {}}, {b.path(), {}}});
  REQUIRE(ranks);
  CHECK(ranks->set.ranks.size() == 1);
  REQUIRE(ranks->set.issues.size() == 1);
  CHECK(ranks->set.issues[0].code == "unreadable-rank");
}

TEST_CASE("a folder, a pattern and several files name the same recordings") {
  const TraceFile a("folder-a", kEvents), b("folder-b", kEvents);
  const fs::path folder = fs::temp_directory_path();
  const std::string pattern = "hotlens-" + std::to_string(getpid()) + "-folder-*.json";
  const auto matching = sources(std::vector<std::string>{pattern}, folder);
  REQUIRE(matching);
  CHECK(matching->size() == 2);
  const auto files = sources(std::vector<std::string>{a.path().string(), b.path().string()}, folder);
  REQUIRE(files);
  CHECK(files->size() == 2);
  CHECK_FALSE(sources(std::vector<std::string>{"nothing-*.json"}, folder));
}

TEST_CASE("two real ranks of one run agree on which collectives they shared") {
  std::vector<Source> both;
  for (const fs::path& file : tests::traces(tests::kReal, "no real trace of several ranks is read")) {
    if (file.filename().string().starts_with("worker")) both.push_back({file, std::nullopt});
  }
  if (both.size() < 2) return;
  const Result<Ranks> ranks = read(both);
  REQUIRE(ranks);
  CHECK(ranks->set.collectives.size() == 8);
  CHECK(ranks->set.world_size == 8);
  CHECK(ranks->set.ranks[1].clock.spread < std::chrono::microseconds(20));
  for (const Shared& shared : ranks->set.collectives) {
    CHECK(shared.end >= shared.last_start);
    CHECK(shared.bytes);
  }
}

}  // namespace
}  // namespace hotlens::ranks
