#include "server/session/client/conversation.h"

#include <stdexcept>

#include "tests/unit/catch.h"
#include "tests/unit/session/heard.h"

using namespace hotlens;
using namespace hotlens::session;
using protocol::Json;

namespace {

// A conversation alone: no documents, no profiles, no loop.
struct Opened {
  test::Heard heard;
  std::vector<std::string> warned;
  std::vector<int> left;
  int shut = 0;
  Conversation conversation{heard.client,
                            {.note = [](std::string_view) {}, .warn = [this](std::string_view text) { warned.emplace_back(text); }},
                            {.initialize = [](const Json& params) -> protocol::Answer {
                               if (params.is_object()) return Json{{"ok", true}};
                               return std::unexpected(protocol::RpcError{protocol::Code::invalid_params, "no"});
                             },
                             .shut_down = [this] { ++shut; },
                             .leave = [this](int code) { left.push_back(code); }}};

  void ask(const Json& id, const std::string& method, const Json& params = Json::object(), bool cancelled = false) {
    conversation.receive({protocol::Request{id, method, params}, cancelled});
  }
  void tell(const std::string& method, const Json& params = Json::object()) {
    conversation.receive({protocol::Notification{method, params}});
  }
  // The answers to a request, in order.
  std::vector<Json> answers(const Json& id) const {
    std::vector<Json> list;
    for (const Json& message : heard.messages) {
      if (message["id"] == id) list.push_back(message);
    }
    return list;
  }
  int error(const Json& id) const {
    const auto list = answers(id);
    return list.size() == 1 && list.front().contains("error") ? list.front()["error"]["code"].get<int>() : 0;
  }
};

}  // namespace

TEST_CASE("a conversation opens once, and nothing is answered before or after") {
  Opened opened;
  opened.conversation.answer("x", [](const Json&) { return Json(7); });
  opened.ask(1, "x");
  CHECK(opened.error(1) == -32002);
  opened.ask(2, "initialize", 5);
  CHECK(opened.error(2) == -32602);
  CHECK_FALSE(opened.conversation.running());
  opened.ask(3, "initialize");
  CHECK(opened.answers(3).front()["result"]["ok"] == true);
  CHECK(opened.conversation.running());
  opened.ask(4, "initialize");
  CHECK(opened.error(4) == -32600);
  opened.ask("five", "x");
  CHECK(opened.answers("five").front()["result"] == 7);
  opened.ask(6, "y");
  CHECK(opened.error(6) == -32601);
  opened.ask(7, "x", Json::object(), true);
  CHECK(opened.error(7) == -32800);
  opened.ask(8, "shutdown");
  CHECK(opened.shut == 1);
  CHECK(opened.answers(8).front()["result"].is_null());
  opened.ask(9, "x");
  CHECK(opened.error(9) == -32600);
  for (const Json& message : opened.heard.messages) CHECK(opened.answers(message["id"]).size() == 1);
}

TEST_CASE("who leaves after a shutdown leaves well") {
  Opened opened;
  opened.tell("exit");
  opened.ask(1, "initialize");
  opened.conversation.input_ended(false, "the input ended");
  opened.ask(2, "shutdown");
  opened.tell("exit");
  opened.conversation.input_ended(false, "the input ended");
  opened.conversation.input_ended(true, "cut");
  CHECK(opened.left == std::vector<int>{1, 1, 0, 0, 1});
  REQUIRE(opened.warned.size() == 1);
  CHECK(opened.warned.front().find("cut") != std::string::npos);
}

TEST_CASE("a handler that throws or forgets its reply costs one answer") {
  Opened opened;
  std::vector<protocol::Reply> kept;
  opened.conversation.on_request("throws", [](const Json&, protocol::Reply) { throw std::runtime_error("the reason"); });
  opened.conversation.on_request("forgets", [](const Json&, const protocol::Reply&) {});
  opened.conversation.on_request("keeps", [&](const Json&, protocol::Reply reply) {
    CHECK(opened.conversation.current() == 5);
    kept.push_back(std::move(reply));
  });
  opened.ask(1, "initialize");
  opened.ask(3, "throws");
  opened.ask(4, "forgets");
  opened.ask(5, "keeps");
  CHECK(opened.error(3) == -32603);
  CHECK(opened.error(4) == -32603);
  CHECK(opened.answers(5).empty());
  kept.front()(Json(1));
  CHECK(opened.answers(5).size() == 1);
  REQUIRE(opened.warned.size() == 1);
  CHECK(opened.warned.front().find("the reason") != std::string::npos);
}

TEST_CASE("notifications are heard while the conversation runs, and what is wrong with them is logged") {
  Opened opened;
  int heard = 0;
  opened.conversation.on_notification("n", [&](const Json& params) -> std::optional<protocol::RpcError> {
    ++heard;
    if (params.is_object()) return std::nullopt;
    return protocol::RpcError{protocol::Code::invalid_params, "expected an object"};
  });
  opened.conversation.on_notification("throws", [](const Json&) -> std::optional<protocol::RpcError> { throw std::runtime_error("bug"); });
  opened.tell("n");
  CHECK(heard == 0);
  opened.ask(1, "initialize");
  opened.tell("n");
  opened.tell("unknown");
  opened.tell("n", 5);
  opened.tell("throws");
  CHECK(heard == 2);
  REQUIRE(opened.warned.size() == 2);
  CHECK(opened.warned[0] == "n: expected an object");
  CHECK(opened.warned[1].find("bug") != std::string::npos);
}
