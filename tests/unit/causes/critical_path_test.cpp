#include "annotator/causes/critical_path.h"

#include <random>

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;
using namespace hotlens::causes;

namespace {

using On = PathPart::On;

struct Walked {
  explicit Walked(const Script& script) : read(script), account(attribution::account(read.trace, read.forest, read.steps, read.owners)) {
    for (std::size_t step = 0; step < account.steps.size(); ++step) paths.push_back(critical_path(account, step));
  }
  Ns sum(On on, std::size_t step = 0) const {
    Ns total{};
    for (const PathPart& part : paths.at(step)) {
      if (part.on == on) total += part.end - part.start;
    }
    return total;
  }

  Read read;
  attribution::Account account;
  std::vector<std::vector<PathPart>> paths;
};

}  // namespace

TEST_CASE("without device work the path is the main thread") {
  const Script script = Script().range("ProfilerStep#0", 0, 100).op("aten::linear", 20, 50);
  const Walked walked(script);
  CHECK(walked.sum(On::host) == us(100));
}

TEST_CASE("a host that is late with every launch is the path, however busy the device") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int i = 0; i < 10; ++i) {
    script.op("aten::mm", i * 100, 95).launch(i + 1, i * 100 + 85, 5).kernel("gemm", i + 1, i * 100 + 95, 80);
  }
  const Walked walked(script);
  CHECK(walked.sum(On::device) <= us(80));
  CHECK(walked.sum(On::host) >= us(800));
}

TEST_CASE("a host that launches ahead and waits leaves the path to the device") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int i = 0; i < 10; ++i) script.op("aten::mm", i * 10, 9).launch(i + 1, i * 10 + 2, 5).kernel("gemm", i + 1, 20 + i * 90, 90);
  script.op("aten::item", 110, 880).launch(99, 115, 870, "cudaStreamSynchronize");
  const Walked walked(script);
  CHECK(walked.sum(On::device) == us(900));
  CHECK(walked.sum(On::host) <= us(90));
}

TEST_CASE("a host that gets ahead and never waits leaves the path of each step to the device") {
  Script script;
  for (int step = 0; step < 3; ++step) {
    script.range("ProfilerStep#" + std::to_string(step), step * 100, 100);
    script.op("aten::mm", step * 100 + 10, 80).launch(step + 1, step * 100 + 20, 5).kernel("gemm", step + 1, 30 + step * 500, 500);
  }
  const Walked walked(script);
  CHECK(walked.sum(On::device, 1) == us(500));
  CHECK(walked.sum(On::host, 1) == us(0));
}

TEST_CASE("the same program with small and with large kernels has opposite paths") {
  const auto with_kernels_of = [](std::int64_t length) {
    Script script;
    script.range("ProfilerStep#0", 0, 2000);
    std::int64_t free = 0;
    for (int i = 0; i < 20; ++i) {
      script.op("aten::mm", i * 50, 45).launch(i + 1, i * 50 + 10, 5);
      const std::int64_t start = std::max<std::int64_t>(free, i * 50 + 18);
      script.kernel("gemm", i + 1, start, length);
      free = start + length;
    }
    const std::int64_t done = std::max<std::int64_t>(free, 1000);
    script.op("aten::item", 1000, done + 5 - 1000).launch(99, 1001, done + 2 - 1001, "cudaStreamSynchronize");
    const Walked walked(script);
    return std::pair(walked.sum(On::host), walked.sum(On::device));
  };
  const auto [small_host, small_device] = with_kernels_of(5);
  const auto [large_host, large_device] = with_kernels_of(95);
  CHECK(small_host > us(1800));
  CHECK(small_device < us(20));
  CHECK(large_device == us(1900));
  CHECK(large_host < us(100));
}

TEST_CASE("a device that runs behind a host which never waits is not late") {
  Script script;
  for (int step = 0; step < 4; ++step) {
    const std::int64_t at = step * 1000;
    script.range("ProfilerStep#" + std::to_string(step), at, 1000).range("enumerate(DataLoader)#_It.__next__", at, 400);
    script.op("aten::mm", at + 400, 550).launch(step + 1, at + 900, 10).kernel("gemm", step + 1, at + 915, 500);
  }
  const Walked walked(script);
  for (std::size_t step = 0; step < 3; ++step) CHECK(walked.sum(On::host, step) == us(1000));
  CHECK(walked.sum(On::device, 3) == us(85));
}

TEST_CASE("work that was launched long before it began follows the work before it") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000).op("aten::mm", 0, 30).launch(1, 5, 5).launch(2, 15, 5).kernel("gemm", 1, 10, 600);
  script.kernel("next", 2, 612, 398);
  const Walked walked(script);
  CHECK(walked.sum(On::device) == us(600 + 388));
}

TEST_CASE("work that ends exactly with the window is on the path") {
  const Walked walked(Script().range("ProfilerStep#0", 0, 1000).op("aten::mm", 0, 30).launch(1, 5, 5).kernel("gemm", 1, 12, 988));
  CHECK(walked.sum(On::device) == us(988));
  CHECK(walked.sum(On::host) == us(5));
}

TEST_CASE("whatever runs, the path covers the step exactly and in order") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 generator(seed);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 400; ++round) {
    Script script;
    std::int64_t at = 0;
    for (int step = 0; step < 3; ++step) {
      const std::int64_t length = 1 + below(200);
      script.range("ProfilerStep#" + std::to_string(step), at, length);
      at += length + below(3);
    }
    const std::int64_t events = below(80);
    for (std::int64_t i = 0; i < events; ++i) {
      const std::int64_t start = below(at + 20) - 10;
      const std::int64_t duration = below(60);
      switch (below(4)) {
        case 0:
          script.launch(below(40), start, duration, below(3) == 0 ? "cudaDeviceSynchronize" : "cudaLaunchKernel",
                        static_cast<std::uint32_t>(below(2)));
          break;
        case 1:
          script.kernel("k", below(40), start, duration);
          break;
        case 2:
          script.copy("Memcpy DtoH (Device -> Pageable)", below(40), start, duration);
          break;
        default:
          script.op("aten::add", start, duration, {.thread = static_cast<std::uint32_t>(below(3))});
      }
    }
    const Walked walked(script);
    for (std::size_t step = 0; step < walked.paths.size(); ++step) {
      Ns reached = walked.account.steps[step].window.start;
      for (const PathPart& part : walked.paths[step]) {
        REQUIRE(part.start == reached);
        REQUIRE(part.end > part.start);
        if (part.on != On::host) REQUIRE(part.at < walked.account.work.size());
        reached = part.end;
      }
      REQUIRE(reached == walked.account.steps[step].window.end);
    }
  }
}
