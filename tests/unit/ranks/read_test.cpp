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

// Three steps that the host is done with after 100 µs each; the device works 800 µs for each, of which `gemm` µs by itself.
std::string far_ahead(int gemm) {
  const auto event = [](const char* category, const std::string& name, int start, int duration, int correlation) {
    const bool device = std::string_view(category) == "kernel";
    return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name + R"(","pid":)" + (device ? "0" : "1") + R"(,"tid":)" +
           (device ? "7" : "1") + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" + std::to_string(duration) +
           R"(,"args":{"correlation":)" + std::to_string(correlation) + "}}";
  };
  std::string events;
  for (int step = 0; step < 3; ++step) {
    const int host = step * 100, device = 30 + step * 800;
    events += event("user_annotation", "ProfilerStep#" + std::to_string(step), host, 90, 0) + "," +
              event("cpu_op", "aten::mm", host + 10, 30, 0) + "," + event("cuda_runtime", "cudaLaunchKernel", host + 20, 5, 2 * step + 1) +
              "," + event("cpu_op", "c10d::allreduce_", host + 50, 30, 0) + "," +
              event("cuda_runtime", "cudaLaunchKernel", host + 60, 5, 2 * step + 2) + "," +
              event("kernel", "gemm", device, gemm, 2 * step + 1) + "," +
              event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", device + gemm, 800 - gemm, 2 * step + 2) +
              (step < 2 ? "," : "");
  }
  return events;
}

TEST_CASE("ranks whose hosts are far ahead of their devices are compared by what the devices did in each step") {
  using std::chrono::microseconds;
  const TraceFile fast("fast", far_ahead(500), of_rank(0, 2)), slow("slow", far_ahead(700), of_rank(1, 2));
  const Result<Ranks> ranks = read(std::vector<Source>{{fast.path(), {}}, {slow.path(), {}}});
  REQUIRE(ranks);
  REQUIRE(ranks->set.collectives.size() == 3);
  const RankTotals& waits = ranks->set.ranks[0];
  for (std::size_t step = 0; step < 3; ++step) {
    CHECK(waits.wall[step] == microseconds(step == 0 ? 830 : 800));
    CHECK(waits.begin[step] == waits.begin[0].value() + microseconds(100 * static_cast<int>(step)));
    CHECK(waits.waiting[step] == microseconds(200));
    CHECK(waits.transferring[step] == microseconds(100));
  }
  REQUIRE(ranks->set.late.size() == 3);
  for (const Late& late : ranks->set.late) {
    CHECK(late.rank == 1);
    CHECK(late.culprit.known);
    CHECK_FALSE(late.culprit.doing.between_steps);
    CHECK(late.culprit.longer == microseconds(200));
  }
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
