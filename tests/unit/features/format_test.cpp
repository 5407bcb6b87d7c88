#include "server/features/format.h"

#include <array>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::features;

TEST_CASE("times have three significant digits and never read 0.00") {
  using Case = std::pair<std::int64_t, const char*>;
  for (const auto& [ns, text] : {Case{0, "0 ns"}, Case{7, "7 ns"}, Case{999, "999 ns"}, Case{1000, "1.00 µs"}, Case{87'449, "87.4 µs"},
                                 Case{999'499, "999 µs"}, Case{999'500, "1.00 ms"}, Case{3'214'000, "3.21 ms"}, Case{41'620'000, "41.6 ms"},
                                 Case{1'040'000'000, "1.04 s"}, Case{123'000'000'000, "123 s"}, Case{-3'214'000, "-3.21 ms"}}) {
    CHECK(format_time(Ns{ns}) == text);
  }
}

TEST_CASE("shares are whole percent, small ones say so") {
  CHECK(format_share(0.244) == "24%");
  CHECK(format_share(0.004) == "<1%");
  CHECK(format_share(1.0) == "100%");
}

TEST_CASE("sizes use decimal units") {
  CHECK(format_bytes(Bytes{512}) == "512 B");
  CHECK(format_bytes(Bytes{144'000}) == "144 kB");
  CHECK(format_bytes(Bytes{25'700'000}) == "25.7 MB");
}

TEST_CASE("hostile text is inert in Markdown") {
  CHECK(escape_markdown("[x](command:rm)") == "\\[x\\](command:rm)");
  CHECK(escape_markdown("<img src=x>") == "\\<img src=x\\>");
  CHECK(escape_markdown("a\x1b[2Jb\nc") == "a?\\[2Jb?c");
  CHECK(escape_markdown("http://x") == "http\\://x");
  CHECK(escape_markdown("\xff\xfe") == "??");
  CHECK(escape_markdown("größe") == "größe");
  CHECK(escape_markdown("abcdef", 3) == "abc…");
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
