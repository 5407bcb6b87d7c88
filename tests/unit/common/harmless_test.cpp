#include "annotator/common/harmless.h"

#include "tests/unit/catch.h"

using namespace hotlens;

TEST_CASE("what steers a terminal or turns text around becomes a question mark") {
  struct Row {
    const char *given, *shown;
  };
  for (const Row& row :
       {Row{"layer1.0", "layer1.0"}, Row{"größe 模型 🙂", "größe 模型 🙂"}, Row{"\x1b[2J\x07", "?[2J?"}, Row{"a\nb\tc\rd", "a?b?c?d"},
        Row{"\xc2\x9b"
            "31m",
            "?31m"},
        Row{"\xc2\x85", "?"}, Row{"\x7f", "?"}, Row{"a\u202egnp.exe", "a?gnp.exe"}, Row{"\u2066x\u2069\u200f\u061c\u200e", "?x????"},
        Row{"\u2028\u2029\ufeff", "???"}, Row{"\U000e0041", "?"}, Row{"\xff\xc3", "??"}, Row{"\xed\xa0\x80", "???"}, Row{"\xc0\x9b", "??"},
        Row{"\xe0\x82\x9b", "???"}, Row{"", ""}}) {
    CAPTURE(row.given);
    CHECK(harmless(row.given) == row.shown);
  }
}

TEST_CASE("lines keep their ends and tabs, and our own colours where there are any") {
  const std::string styled = "\x1b[1mname\x1b[0m\n\ta\r\n\r\x1b[Kdone";
  CHECK(harmless_lines(styled, true) == styled);
  CHECK(harmless_lines("\x1b[48;5;74;38;5;233mforward\x1b[0m", true) == "\x1b[48;5;74;38;5;233mforward\x1b[0m");
  CHECK(harmless_lines("\x1b[48;5;74;38;5;m\x1b[48;5;7m\x1b[48;5;1234;38;5;1m", true) == "?[48;5;74;38;5;m?[48;5;7m?[48;5;1234;38;5;1m");
  CHECK(harmless_lines(styled, false) == "?[1mname?[0m\n\ta\r\n??[Kdone");
  CHECK(harmless_lines("\x1b[8mhidden\x1b]0;title\x07\rover", true) == "?[8mhidden?]0;title??over");
  const std::string long_line(200'000, 'x');
  CHECK(harmless_lines(long_line + "\x1b", true) == long_line + "?");
}

TEST_CASE("JSON says the same after it was made harmless") {
  CHECK(harmless_json("{\n\t\"é\": \"µs\"}\r\n") == "{\n\t\"é\": \"µs\"}\r\n");
  CHECK(harmless_json("[\"\xc2\x9b\u202e\x7f\"]") == "[\"\\u009b\\u202e\\u007f\"]");
  CHECK(harmless_json("\"\U000e0041\"") == "\"\\udb40\\udc41\"");
  CHECK(harmless_json("\"\xff\"") == "\"\\ufffd\"");
}
