#include "annotator/trace/decimal.h"

#include <string>

#include "tests/unit/catch.h"

using hotlens::Ns;
using namespace hotlens::trace;

TEST_CASE("decimal microseconds become whole nanoseconds exactly") {
  CHECK(microseconds("5") == Ns{5000});
  CHECK(microseconds("5.25") == Ns{5250});
  CHECK(microseconds("0.001") == Ns{1});
  CHECK(microseconds("-0.001") == Ns{-1});
  CHECK(microseconds("1.5e3") == Ns{1500000});
  CHECK(microseconds("1.5E-3") == Ns{1});
  CHECK(microseconds("\"12.5\"") == Ns{12500});
  CHECK(microseconds("7.000 \n") == Ns{7000});
}

TEST_CASE("nineteen digits survive, where a double would lose two") {
  CHECK(microseconds("1712195490000123.457") == Ns{1712195490000123457});
  CHECK(microseconds("4400560219552.538") == Ns{4400560219552538});
}

TEST_CASE("times of every length are exact") {
  const std::string digits = "4611686018427387";  // sixteen: as long as a time since the epoch
  for (std::size_t whole = 1; whole <= digits.size(); ++whole) {
    const std::string front = digits.substr(0, whole);
    for (const std::string fraction : {"", "7", "70", "701", "7019"}) {
      CAPTURE(front, fraction);
      const std::string padded = (fraction + "000").substr(0, 3);
      const Ns want{std::stoll(front) * 1000 + std::stoll(padded)};
      CHECK(microseconds(fraction.empty() ? front : front + "." + fraction) == want);
      CHECK(microseconds("-" + front + "." + padded) == -want);
    }
  }
  CHECK_FALSE(microseconds("4611686018427388").has_value());
}

TEST_CASE("what stands among eight digits is no digit") {
  for (char c = 33; c < 127; ++c) {  // white space may follow a number
    if ((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E') continue;
    for (std::size_t at = 1; at < 7; ++at) {
      std::string text = "12345678";
      text[at] = c;
      CAPTURE(text);
      CHECK_FALSE(microseconds(text).has_value());
    }
  }
}

TEST_CASE("digits below a nanosecond are dropped") {
  CHECK(microseconds("1.0009") == Ns{1000});
  CHECK(microseconds("1.99999999999999999999999") == Ns{1999});
}

TEST_CASE("what is no time, or none that fits, is nothing") {
  for (const char* text : {"", "-", ".", "abc", "1.2.3", "NaN", "1e", "1e99", "99999999999999999999", "null", "{", "0x10"}) {
    CAPTURE(text);
    CHECK_FALSE(microseconds(text).has_value());
  }
}

TEST_CASE("integers drop fractions and accept quotes") {
  CHECK(integer("42") == 42);
  CHECK(integer("42.9") == 42);
  CHECK(integer("\"7\"") == 7);
  CHECK(integer("-3") == -3);
  CHECK(integer("1234567890123456789 \n") == 1234567890123456789);
  CHECK_FALSE(integer("12 34").has_value());
  CHECK_FALSE(integer("18446744073709551615").has_value());
}
