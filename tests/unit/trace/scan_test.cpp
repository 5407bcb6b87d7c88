#include "annotator/trace/scan.h"

#include <string>

#include "tests/unit/catch.h"

using namespace hotlens::trace;

TEST_CASE("ends of values are found whatever stands in their strings") {
  const std::string text = R"({"a": "}\"", "b": [1, {"c": "]"}]} rest)";
  CHECK(end_of_brackets(text, 0) == text.find(" rest"));
  CHECK(end_of_value(R"("x\\" ,)", 0) == 5);
  CHECK(end_of_value("12.5,", 0) == 4);
  CHECK(end_of_value("12", 0) == kNowhere);
  CHECK(end_of_brackets("[1, {]", 0) == kNowhere);
  CHECK(end_of_brackets("[\"]", 0) == kNowhere);
  CHECK(end_of_string("\"\\", 0) == kNowhere);
}

TEST_CASE("a boundary is a comma between objects, and never inside a string") {
  const std::string text = "{\"a\": 1} ,\n {\"b\": \"},{\"}, 5, {\"c\": 2";
  CHECK(last_boundary(text) == text.find(" ,") + 1);
  CHECK(last_boundary(R"({"a": "},{\"ph\": 1},{\"x"})") == kNowhere);
  CHECK(last_boundary("") == kNowhere);
  CHECK(last_boundary("},{\"") == kNowhere);
}

TEST_CASE("the next event begins with its phase where the writer does so") {
  const std::string text = R"({"ph": "X", "args": [{"a": 1},{"b": 2}]}, { "ph": "M"})";
  CHECK(begins_with_phase(text));
  CHECK(next_event(text, 1, true) == text.find("{ \"ph\""));
  CHECK(next_event(text, 1, false) == text.find("{ \"ph\""));
  CHECK_FALSE(begins_with_phase(R"({"name": "ph"})"));
}
