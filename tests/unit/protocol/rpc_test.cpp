#include "protocol/rpc.h"

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

namespace {

std::string wire(const Json& body) {
  return body.dump();
}

const Rejected* rejected(const Message& message) {
  return std::get_if<Rejected>(&message);
}

}  // namespace

TEST_CASE("ids are echoed with their JSON type") {
  for (const Json& id : {Json(0), Json(-7), Json(2147483647), Json("text"), Json("12")}) {
    const Message message = decode(wire({{"jsonrpc", "2.0"}, {"id", id}, {"method", "m"}}));
    REQUIRE(std::holds_alternative<Request>(message));
    const Json answer = Json::parse(encode_response(std::get<Request>(message).id, Json()));
    CHECK(answer["id"] == id);
    CHECK(answer["id"].is_string() == id.is_string());
  }
}

TEST_CASE("a response has exactly one of result and error") {
  const Json good = Json::parse(encode_response(1, Json()));
  CHECK((good.contains("result") && good["result"].is_null() && !good.contains("error")));
  const Json bad = Json::parse(encode_response(1, std::unexpected(RpcError{Code::invalid_params, "why"})));
  CHECK((!bad.contains("result") && bad["error"] == Json{{"code", -32602}, {"message", "why"}}));
}

TEST_CASE("params may be absent or null and are not written when there are none") {
  const Message absent = decode(R"({"jsonrpc":"2.0","id":1,"method":"shutdown"})");
  const Message null = decode(R"({"jsonrpc":"2.0","id":1,"method":"shutdown","params":null})");
  CHECK(std::get<Request>(absent).params.is_null());
  CHECK(std::get<Request>(null).params.is_null());
  CHECK_FALSE(Json::parse(encode_notification("x", Json())).contains("params"));
  CHECK_FALSE(Json::parse(encode_request(1, "x", Json())).contains("params"));
}

TEST_CASE("messages that are not JSON-RPC are rejected with a code and, where it can be read, the id") {
  struct Case {
    std::string body;
    Code code;
    Json id;
  };
  const std::vector<Case> cases{
      {"", Code::parse_error, {}},
      {"{", Code::parse_error, {}},
      {"5", Code::invalid_request, {}},
      {"[]", Code::invalid_request, {}},
      {R"([{"jsonrpc":"2.0","id":1,"method":"m"}])", Code::invalid_request, {}},
      {R"({"id":1,"method":"m"})", Code::invalid_request, 1},
      {R"({"jsonrpc":"1.0","id":1,"method":"m"})", Code::invalid_request, 1},
      {R"({"jsonrpc":"2.0","id":"a","method":5})", Code::invalid_request, "a"},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", Code::invalid_request, {}},
      {R"({"jsonrpc":"2.0","id":null,"method":"m"})", Code::invalid_request, {}},
      {R"({"jsonrpc":"2.0","id":[1],"method":"m"})", Code::invalid_request, {}},
      {R"({"jsonrpc":"2.0","id":2,"method":"m","params":"text"})", Code::invalid_request, 2},
      {R"({"jsonrpc":"2.0","id":3})", Code::invalid_request, 3},
      {R"({"jsonrpc":"2.0"})", Code::invalid_request, {}},
  };
  for (const Case& one : cases) {
    const Message message = decode(one.body);
    CAPTURE(one.body);
    REQUIRE(rejected(message));
    CHECK(rejected(message)->error.code == one.code);
    CHECK(rejected(message)->id == one.id);
  }
}

TEST_CASE("answers of the client are read, results and errors alike") {
  const Message good = decode(R"({"jsonrpc":"2.0","id":"s1","result":[1]})");
  CHECK(*std::get<Response>(good).answer == Json::array({1}));
  const Message bad = decode(R"({"jsonrpc":"2.0","id":"s1","error":{"code":-32601,"message":"no"}})");
  CHECK(std::get<Response>(bad).answer.error().code == Code::method_not_found);
  const Message odd = decode(R"({"jsonrpc":"2.0","id":"s1","result":null,"error":null})");
  CHECK(std::get<Response>(odd).answer->is_null());
}

TEST_CASE("a reply answers once, and by itself when it is dropped") {
  std::vector<Answer> answers;
  const auto keep = [&](Outcome outcome) { answers.push_back(std::get<Answer>(std::move(outcome))); };
  {
    Reply reply(keep);
    reply(Json(1));
    reply(Json(2));
    CHECK(reply.answered());
  }
  REQUIRE(answers.size() == 1);
  CHECK(*answers[0] == 1);
  {
    Reply dropped(keep);
    Reply moved = std::move(dropped);
  }
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].error().code == Code::internal_error);
}

TEST_CASE("a result that is written already is sent as it is") {
  std::string sent;
  Reply reply([&](const Outcome& outcome) { sent = encode_response("s1", outcome); });
  reply(Written(R"([{"label":"1.2 ms"}])"));
  CHECK(Json::parse(sent) == Json{{"jsonrpc", "2.0"}, {"id", "s1"}, {"result", {{{"label", "1.2 ms"}}}}});
}
