#include "annotator/common/memory.h"

#include <vector>

#include "tests/unit/catch.h"

using namespace hotlens;

TEST_CASE("what is free is read from the kernel's tables") {
  CHECK(available_in("MemTotal:  24 kB\nMemAvailable:   1000 kB\nMemFree: 3 kB\n") == 1'024'000);
  CHECK_FALSE(available_in("MemTotal: 24 kB\n").has_value());
  CHECK(total_in("MemTotal:  24 kB\nMemAvailable:   1000 kB\n") == 24'576);
  CHECK(memory_of_machine().value_or(0) >= memory_left());
  CHECK(left_in_group("1000\n", "300\n", "anon 1\ninactive_file 100\n") == 800);  // files in the cache are given back
  CHECK(left_in_group("1000\n", "1300\n", "") == 0);
  CHECK_FALSE(left_in_group("max\n", "300\n", "").has_value());
  CHECK_FALSE(left_in_group("", "", "").has_value());
}

TEST_CASE("a budget is used up by what the process takes") {
  CHECK(memory_left() > 0);
  CHECK(memory_used() > 0);
  const MemoryBudget budget(std::size_t{8} << 20);
  CHECK_FALSE(budget.exceeded());
  std::vector<char> much(std::size_t{32} << 20, 'x');
  CHECK(budget.exceeded());
  CHECK(much.back() == 'x');
  CHECK_FALSE(MemoryBudget().exceeded());
}
