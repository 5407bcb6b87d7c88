#include "server/session/lines/waiting_hints.h"

#include "tests/unit/catch.h"
#include "tests/unit/session/heard.h"

using namespace hotlens;
using session::Loop;
using session::WaitingHints;

TEST_CASE("a request waits until its document is known") {
  Loop loop;
  WaitingHints waiting(loop);
  const test::Asked first, second;
  std::string text = "[1]";
  waiting.wait(1, "a", [&] { return text; }, first.reply());
  waiting.wait(2, "b", [&] { return text; }, second.reply());
  text = "[2]";
  waiting.answer([](const std::string& uri) { return uri == "b"; });
  CHECK(first.outcome->is_null());
  CHECK(second.result() == protocol::Json::parse("[2]"));
  CHECK(waiting.size() == 1);
  waiting.answer([](const std::string&) { return true; });
  CHECK(first.result() == protocol::Json::parse("[2]"));
  CHECK(waiting.size() == 0);
}

TEST_CASE("a request that is cancelled is answered so, and only that one") {
  Loop loop;
  WaitingHints waiting(loop);
  const test::Asked first, second;
  waiting.wait("x", "a", [] { return "[]"; }, first.reply());
  waiting.wait("y", "a", [] { return "[]"; }, second.reply());
  waiting.cancel("y");
  waiting.cancel("z");
  CHECK(second.error() == -32800);
  CHECK(first.outcome->is_null());
  waiting.end();
  CHECK(first.error() == -32800);
  CHECK(waiting.size() == 0);
}

TEST_CASE("nobody waits longer than the limit") {
  Loop loop;
  WaitingHints waiting(loop, std::chrono::milliseconds(30));
  const test::Asked asked;
  waiting.wait(1, "a", [] { return "null"; }, asked.reply());
  CHECK(test::run_until(loop, [&] { return !asked.outcome->is_null(); }));
  CHECK(asked.outcome->contains("result"));
  CHECK(waiting.size() == 0);
  waiting.answer([](const std::string&) { return true; });  // it is answered once
  waiting.cancel(1);
}
