#include "server/web/admission.h"

#include <set>

#include "tests/unit/catch.h"

using namespace hotlens::web;

namespace {

constexpr std::uint16_t kPort = 4711;
const std::string kToken(64, 'a');

Admission asked(std::string target, std::string_view host = "127.0.0.1:4711", std::optional<std::string_view> origin = std::nullopt) {
  return admit({.target = target, .host = host, .origin = origin}, kPort, kToken);
}

}  // namespace

TEST_CASE("the page and the socket want the token, the page's files do not") {
  CHECK(asked("/?token=" + kToken) == Admission::page);
  CHECK(asked("/ws?token=" + kToken) == Admission::socket);
  CHECK(asked("/ws?a=1&token=" + kToken + "&b=2") == Admission::socket);
  CHECK(asked("/timeline.js") == Admission::file);
  for (const std::string& target :
       {std::string("/?token="), "/?token=" + kToken + "x", "/?token=" + kToken.substr(1), std::string("/?a=1&token=b"),
        "/ws?token=b" + kToken.substr(1), std::string("/ws"), "/ws?Token=" + kToken, "/ws?once=" + kToken}) {
    CAPTURE(target);
    CHECK(asked(target) == Admission::no_token);
  }
  // The page without anything of a profile, for a tab that has the token in its memory.
  for (const std::string& target : {std::string("/"), "/?Token=" + kToken, "/?xtoken=" + kToken, "/#token=" + kToken}) {
    CAPTURE(target);
    CHECK(asked(target) != Admission::page);
  }
  CHECK(asked("/") == Admission::empty_page);
  CHECK(asked("timeline.js") == Admission::not_found);
  CHECK(asked("") == Admission::not_found);
}

TEST_CASE("a name that leads here by DNS, another port and another page's script are turned away before the token is looked at") {
  const std::string page = "/?token=" + kToken;
  CHECK(asked(page, "localhost:4711") == Admission::page);
  for (const char* host :
       {"evil.example:4711", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:47110", "localhost", "", "127.0.0.1:4711.evil.example"}) {
    CAPTURE(host);
    CHECK(asked(page, host) == Admission::wrong_place);
    CHECK(asked("/timeline.js", host) == Admission::wrong_place);
  }
  const std::string socket = "/ws?token=" + kToken;
  CHECK(asked(socket, "127.0.0.1:4711", "http://127.0.0.1:4711") == Admission::socket);
  for (const char* origin : {"http://localhost:4711", "https://127.0.0.1:4711", "http://evil.example", "null", ""}) {
    CAPTURE(origin);
    CHECK(asked(socket, "127.0.0.1:4711", origin) == Admission::wrong_place);
  }
}

TEST_CASE("a token is long, new each time, and compared as a whole") {
  std::set<std::string> tokens;
  for (int time = 0; time < 100; ++time) tokens.insert(random_token());
  CHECK(tokens.size() == 100);
  for (const std::string& token : tokens) {
    CHECK(token.size() == 64);
    CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(same_token(token, token));
    CHECK_FALSE(same_token(token.substr(0, 63), token));
    CHECK_FALSE(same_token(token + "0", token));
  }
  CHECK_FALSE(same_token("", ""));  // a server without a token lets nobody in
}

TEST_CASE("a code counts once, and not for long") {
  CHECK(asked("/?once=abc") == Admission::once);
  CHECK(asked("/?once=abc", "evil.example:4711") == Admission::wrong_place);
  CHECK(code_in("/?a=1&once=abc&b=2") == "abc");
  OneUse codes;
  const OneUse::Clock::time_point now{};
  const std::string first = codes.make(now), second = codes.make(now);
  CHECK(first != second);
  CHECK_FALSE(codes.take(first.substr(1), now));
  CHECK_FALSE(codes.take("", now));
  CHECK(codes.take(first, now));
  CHECK_FALSE(codes.take(first, now));
  CHECK_FALSE(codes.take(second, now + OneUse::kValid + std::chrono::seconds(1)));
}

TEST_CASE("every refusal is a sentence that says what to open") {
  for (const Admission refused : {Admission::wrong_place, Admission::no_token, Admission::once, Admission::not_found}) {
    CHECK(refusal(refused).find("Open the address that hotlens printed") != std::string_view::npos);
  }
  CHECK(path_of("/a/b?c=/d?e") == "/a/b");
}
