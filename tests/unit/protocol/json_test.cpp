#include "protocol/json.h"

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

TEST_CASE("nesting is bounded before parsing") {
  CHECK(parse_json(std::string(256, '[') + std::string(256, ']')));
  CHECK_FALSE(parse_json(std::string(257, '[') + std::string(257, ']')));
  CHECK_FALSE(parse_json(std::string(1'000'000, '[')));
  CHECK(parse_json("\"" + std::string(1000, '[') + "\""));
  CHECK(parse_json("\"\\\"" + std::string(1000, '{') + "\""));
}

TEST_CASE("bytes that are not JSON are an error, not an exception") {
  for (const std::string text : {"", "{", "{]", "nul", "\"\xff\"", "{\"a\":1,}"}) CHECK_FALSE(parse_json(text));
}

TEST_CASE("lone surrogate escapes keep their place as U+FFFD") {
  CHECK(*parse_json(R"(["a\ud83db"])") == Json::array({"a\uFFFDb"}));
  CHECK(*parse_json(R"(["\ude00"])") == Json::array({"\uFFFD"}));
  CHECK(*parse_json(R"(["\ud83d\ud83d\ude00"])") == Json::array({"\uFFFD😀"}));
  CHECK(*parse_json(R"(["\\ud83d", "\ud83d"])") == Json::array({"\\ud83d", "\uFFFD"}));
  CHECK_FALSE(parse_json(R"(["\ud83g"])"));
}

TEST_CASE("strings that are not UTF-8 are written with a replacement") {
  CHECK(dump_json(Json{{"path",
                        "a\xff"
                        "b"}}) == "{\"path\":\"a\uFFFDb\"}");
}
