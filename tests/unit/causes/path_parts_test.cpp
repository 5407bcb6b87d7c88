#include "annotator/causes/path_parts.h"

#include <algorithm>
#include <string>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::causes;
using profile::Cause;
using profile::CriticalPart;

namespace {

CriticalPart part(std::int64_t start, std::int64_t end, Cause cause, const std::string& what) {
  return {.start = Ns{start}, .end = Ns{end}, .cause = cause, .on = "device", .what = what};
}

}  // namespace

TEST_CASE("neighbours of one name and cause are one part of the path") {
  const auto path =
      readable_path({part(0, 5, Cause::compute, "gemm"), part(5, 9, Cause::compute, "gemm"), part(9, 20, Cause::memory, "add")}, 10);
  REQUIRE(path.size() == 2);
  CHECK(path[0].end == Ns{9});
  CHECK(path[0].parts == 2);
  CHECK(path[1].what == "add");
}

TEST_CASE("a path of too many parts keeps the longest and covers the same time") {
  std::vector<CriticalPart> parts;
  std::int64_t at = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t length = i % 100 == 50 ? 1000 : 1 + i % 7;
    parts.push_back(part(at, at + length, i % 2 == 0 ? Cause::memory : Cause::launch, "k" + std::to_string(i)));
    at += length;
  }
  const std::size_t most = GENERATE(1, 2, 21, 100, 999);
  CAPTURE(most);
  const auto path = readable_path(parts, most);
  CHECK(path.size() <= most);
  std::int64_t all = 0;
  Ns reached{};
  for (const CriticalPart& each : path) {
    REQUIRE(each.start == reached);
    reached = each.end;
    all += each.parts;
  }
  CHECK(reached == Ns{at});
  CHECK(all == 1000);
  if (most >= 21) CHECK(std::ranges::count_if(path, [](const CriticalPart& each) { return each.end - each.start == Ns{1000}; }) == 10);
}

TEST_CASE("short neighbours are called what the longest is, and have the cause of most of their time") {
  const auto path =
      readable_path({part(0, 100, Cause::compute, "gemm"), part(100, 103, Cause::memory, "a"), part(103, 107, Cause::launch, "b"),
                     part(107, 110, Cause::memory, "c"), part(110, 300, Cause::compute, "mm"), part(300, 303, Cause::memory, "d"),
                     part(303, 305, Cause::launch, "e")},
                    5);
  REQUIRE(path.size() == 4);
  CHECK(path[1].what == "b");
  CHECK(path[1].cause == Cause::memory);
  CHECK(path[1].parts == 3);
  CHECK(path[3].what == "d");
}
