#include "annotator/common/format.h"

#include "annotator/common/amount.h"

#include <cstdint>
#include <utility>

#include "tests/unit/catch.h"

using namespace hotlens;

TEST_CASE("times have three significant digits and never read 0.00") {
  using Case = std::pair<std::int64_t, const char*>;
  for (const auto& [ns, text] : {Case{0, "0 ns"}, Case{7, "7 ns"}, Case{999, "999 ns"}, Case{1000, "1.00 µs"}, Case{87'449, "87.4 µs"},
                                 Case{999'499, "999 µs"}, Case{999'500, "1.00 ms"}, Case{3'214'000, "3.21 ms"}, Case{41'620'000, "41.6 ms"},
                                 Case{1'040'000'000, "1.04 s"}, Case{123'000'000'000, "123 s"}, Case{-3'214'000, "-3.21 ms"}}) {
    CHECK(format::readable(Ns{ns}) == text);
  }
}

TEST_CASE("amounts of arithmetic have three significant digits") {
  CHECK(format::amount(0, "FLOP") == "0 FLOP");
  CHECK(format::amount(524'288, "FLOP") == "524 kFLOP");
  CHECK(format::amount(9.9949e12, "FLOP/s") == "9.99 TFLOP/s");
  CHECK(format::amount(999.6e9, "B") == "1.00 TB");
  CHECK(format::amount(1e30, "FLOP").ends_with(" PFLOP"));
}

TEST_CASE("shares are whole percent, small ones say so") {
  CHECK(format::share(0.244) == "24%");
  CHECK(format::share(0.004) == "<1%");
  CHECK(format::share(1.0) == "100%");
}

TEST_CASE("sizes use decimal units") {
  CHECK(format::readable(Bytes{512}) == "512 B");
  CHECK(format::readable(Bytes{999'700}) == "1.00 MB");
  CHECK(format::readable(Bytes{-25'700'000}) == "-25.7 MB");
  CHECK(format::readable(Bytes{144'000}) == "144 kB");
  CHECK(format::readable(Bytes{25'700'000}) == "25.7 MB");
}

TEST_CASE("columns of a terminal are counted, not characters") {
  CHECK(format::width("größe") == 5);
  CHECK(format::width("模型 🙂") == 7);
  CHECK(format::width("e\u0301") == 1);
  CHECK(format::shortened("模型模型模型", 7) == "模型模…");
  CHECK(format::shortened("layer1.0.conv1", 8) == "layer1.…");
}

TEST_CASE("times that people wait for are in minutes and hours") {
  CHECK(format::long_time(Ns(std::chrono::seconds(119))) == "119 s");
  CHECK(format::long_time(Ns(std::chrono::seconds(155))) == "3 min");
  CHECK(format::long_time(Ns(std::chrono::minutes(47))) == "47 min");
  CHECK(format::long_time(Ns(std::chrono::minutes(125))) == "2 h 05 min");
  CHECK(format::long_time(Ns(std::chrono::hours(76))) == "3 d 4 h");
}
