#include "protocol/reader.h"

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

TEST_CASE("a whole shape is read first and judged once, by its first wrong path") {
  const Json json = {{"textDocument", {{"uri", 5}}}, {"position", {{"line", -1}}}};
  const Reader params(json);
  CHECK(params["textDocument"]["uri"].string().empty());
  CHECK(params["position"]["line"].unsigned32() == 0);
  REQUIRE(params.error());
  CHECK(params.error()->code == Code::invalid_params);
  CHECK(params.error()->message == "expected a string at /textDocument/uri");
}

TEST_CASE("params that are absent, null or an array are wrong where an object is needed") {
  for (const Json& json : {Json(), Json::array({1}), Json(3)}) {
    const Reader params(json);
    params["a"]["b"].string();
    REQUIRE(params.error());
    CHECK(params.error()->message == "expected an object at params");
  }
}

TEST_CASE("optional members may be absent or null") {
  const Json json = {{"a", nullptr}, {"b", {1, 2}}};
  const Reader params(json);
  CHECK_FALSE(params.maybe("a"));
  CHECK_FALSE(params.maybe("missing"));
  REQUIRE(params.maybe("b"));
  CHECK(params["b"].items().size() == 2);
  CHECK_FALSE(params.error());
  CHECK_FALSE(Reader(Json()).maybe("a"));
}

TEST_CASE("integers outside LSP's range are wrong") {
  const Json json = {{"big", 2147483648}, {"float", 1.5}, {"huge", 18446744073709551615U}, {"good", 2147483647}};
  CHECK(Reader(json)["good"].unsigned32() == 2147483647);
  for (const char* key : {"big", "float", "huge"}) {
    const Reader params(json);
    params[key].unsigned32();
    CHECK(params.error());
  }
}
