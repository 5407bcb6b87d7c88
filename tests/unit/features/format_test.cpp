#include "server/features/words/format.h"

#include <array>

#include "server/features/words/label_numbers.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::features;

TEST_CASE("hostile text is inert in Markdown") {
  CHECK(escape_markdown("[x](command:rm)") == "\\[x\\](command:rm)");
  CHECK(escape_markdown("<img src=x>") == "\\<img src=x\\>");
  CHECK(escape_markdown("a\x1b[2Jb\nc") == "a?\\[2Jb?c");
  CHECK(escape_markdown("http://x") == "http\\://x");
  CHECK(escape_markdown("\xff\xfe") == "??");
  CHECK(escape_markdown("größe") == "größe");
  CHECK(escape_markdown("abcdef", 3) == "abc…");
}

TEST_CASE("no number is written as a thousand of its unit") {
  struct Case {
    Ns time;
    const char *number, *unit;
  };
  for (const Case& one : {Case{Ns{999'400}, "999", " µs"}, Case{Ns{999'700}, "1.0", " ms"}, Case{Ns{999'960'000}, "1.0", " s"}}) {
    const Unit unit = unit_of(one.time);
    CHECK(number(one.time, unit) == one.number);
    CHECK(unit.name == one.unit);
  }
}

TEST_CASE("the block slice covers the step with one character a cell") {
  const std::array<profile::Slice, 1> slices{profile::Slice{Ns{0}, Ns{50}}};
  CHECK(block_slice(slices, Ns{100}, 4) == "██··");
  CHECK(block_slice({}, Ns{100}, 4) == "····");
  CHECK(block_slice(slices, Ns{0}, 4).empty());
}

TEST_CASE("the picture stays far below what VS Code cuts") {
  std::vector<profile::Slice> many(20'000, profile::Slice{Ns{10}, Ns{1}});
  CHECK(svg_slice(many, Ns{100}).size() < 90'000);
}
