#include "server/runs/conversation.h"

#include <signal.h>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::runs;
using namespace std::chrono_literals;

namespace {

Conversation shell(const std::string& script) {
  auto started = Conversation::start({.argv = {"/bin/sh", "-c", script}});
  REQUIRE(started);
  return std::move(*started);
}

std::string error(Conversation& conversation, std::chrono::milliseconds within = 20s) {
  const auto answer = conversation.ask("?", within);
  REQUIRE(!answer);
  return answer.error().message;
}

}  // namespace

TEST_CASE("each line is answered by a line") {
  Conversation echo = shell("while read -r line; do echo \"<$line>\"; done");
  CHECK(echo.ask("one", 20s).value() == "<one>");
  CHECK(echo.ask("two", 20s).value() == "<two>");
}

TEST_CASE("a question larger than a pipe goes through beside what the child says") {
  Conversation counts = shell("echo noise >&2; wc -c");
  const std::string large(3'000'000, 'x');
  CHECK(!counts.ask(large, 2s));  // wc waits for the end of its input
  Conversation reads = shell("read -r line; echo ${#line}");
  CHECK(reads.ask(large, 60s).value() == "3000000");
}

TEST_CASE("a child that ends says how, and its last words") {
  Conversation fails = shell("read -r line; echo first >&2; echo 'no such thing' >&2; exit 3");
  CHECK_THAT(error(fails), Catch::Contains("ended with code 3: no such thing"));
  CHECK(!fails.alive());
  CHECK_THAT(error(fails), Catch::Contains("has ended"));
  Conversation crashes = shell("read -r line; kill -SEGV $$");
  CHECK_THAT(error(crashes), Catch::Contains("signal 11"));
}

TEST_CASE("a child that is late is stopped, with all it has started, after it could say what it was doing") {
  Conversation hangs = shell("trap 'echo running aten::slow >&2; exit 1' TERM; read -r line; sleep 1000 & wait");
  CHECK_THAT(error(hangs, 300ms), Catch::Contains("took too long") && Catch::Contains("running aten::slow"));
  CHECK(!hangs.alive());
  Conversation deaf = shell("trap '' TERM; read -r line; while :; do sleep 0.1; done");
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THAT(error(deaf, 200ms), Catch::Contains("took too long"));
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("a child that never ends its line costs bounded memory and is stopped") {
  Conversation floods = shell("read -r line; cat /dev/zero");
  CHECK_THAT(error(floods, 60s), Catch::Contains("The worker"));
  CHECK(!floods.alive());
}

TEST_CASE("a program that does not exist is an error of the start") {
  CHECK(!Conversation::start({.argv = {"/nonexistent/hotlens-lab"}}));
}
