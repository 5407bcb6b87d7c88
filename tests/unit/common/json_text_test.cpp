#include "annotator/common/json_text.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/unit/catch.h"

using namespace hotlens;

namespace {

std::string nested() {
  JsonText json;
  json.object([&] {
    json.member("text", std::string_view("a\"b\\c\n\x1b[31m\xc3\xa9 \x7f"));
    json.member("broken", std::string_view("\xff\xfe"));
    json.member("least", std::numeric_limits<std::int64_t>::min());
    json.member("size", std::size_t{3});
    json.member("yes", true);
    json.member("share", 0.1);
    json.member("no_number", std::numeric_limits<double>::quiet_NaN());
    json.array("empty", [] {});
    json.object("nothing", [] {});
    json.array("rows", [&] {
      json.object([&] { json.member("a", 1); });
      json.object([&] { json.array("b", [&] { json.object([] {}); }); });
    });
    json.member("last", 0);
  });
  return std::move(json).take();
}

}  // namespace

TEST_CASE("what is written is the JSON that a tree of it would be, byte by byte") {
  using Json = nlohmann::ordered_json;
  const Json tree = {{"text", "a\"b\\c\n\x1b[31m\xc3\xa9 \x7f"},
                     {"broken", "\xff\xfe"},
                     {"least", std::numeric_limits<std::int64_t>::min()},
                     {"size", 3},
                     {"yes", true},
                     {"share", 0.1},
                     {"no_number", std::numeric_limits<double>::quiet_NaN()},
                     {"empty", Json::array()},
                     {"nothing", Json::object()},
                     {"rows", {{{"a", 1}}, {{"b", {Json::object()}}}}},
                     {"last", 0}};
  CHECK(nested() == tree.dump(2, ' ', false, Json::error_handler_t::replace));
}

TEST_CASE("every byte of a string is escaped where JSON asks for it") {
  for (int byte = 0; byte < 128; ++byte) {
    const std::string text = std::string("x") + static_cast<char>(byte) + "y";
    CHECK(json_string(text) == nlohmann::json(text).dump());
  }
}
