#include "protocol/framing.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

namespace {

struct Outcome {
  std::vector<std::string> bodies;
  std::optional<FrameFault> fault;
  bool cut = false;
};

Outcome read_all(std::string_view bytes, std::size_t chunk) {
  FrameReader reader;
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    reader.feed(bytes.substr(at, chunk));
    while (auto body = reader.next()) {
      if (!*body) {
        outcome.fault = body->error();
        break;
      }
      outcome.bodies.push_back(**body);
    }
  }
  outcome.cut = reader.mid_message();
  return outcome;
}

}  // namespace

TEST_CASE("messages survive every chunking") {
  const std::string big(100'000, 'x');
  const std::string bytes = frame("{}") + frame("") +
                            "content-TYPE:application/vscode-jsonrpc; charset=utf-8\r\nX-Other: 1\r\ncontent-length :  3 \r\n\r\nabc" +
                            frame(big) + frame("é漢😀");
  for (const std::size_t chunk : {1U, 2U, 3U, 7U, 64U, 4096U, 1'000'000U}) {
    const Outcome outcome = read_all(bytes, chunk);
    CAPTURE(chunk);
    CHECK_FALSE(outcome.fault);
    CHECK_FALSE(outcome.cut);
    CHECK(outcome.bodies == std::vector<std::string>{"{}", "", "abc", big, "é漢😀"});
  }
}

TEST_CASE("charset utf8 in its three spellings is accepted") {
  for (const std::string charset : {"utf-8", "utf8", "\"UTF-8\""}) {
    CHECK(read_all("Content-Type: a/b; charset=" + charset + "\r\nContent-Length: 1\r\n\r\nx", 5).bodies.size() == 1);
  }
}

TEST_CASE("each malformed frame has its own fault, whatever the chunking") {
  const std::vector<std::pair<std::string, FrameFault>> cases{
      {"X: 1\r\n\r\n", FrameFault::no_length},
      {"\r\n\r\n", FrameFault::no_length},
      {"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", FrameFault::duplicate_length},
      {"Content-Length: -1\r\n\r\n", FrameFault::bad_length},
      {"Content-Length: 0x10\r\n\r\n", FrameFault::bad_length},
      {"Content-Length: 1 2\r\n\r\n", FrameFault::bad_length},
      {"Content-Length:\r\n\r\n", FrameFault::bad_length},
      {"Content-Length: 67108865\r\n\r\n", FrameFault::body_too_long},
      {"Content-Length: 99999999999999999999999999\r\n\r\n", FrameFault::body_too_long},
      {"Content-Length: 2\n\n{}", FrameFault::bad_header},
      {"\xEF\xBB\xBF"
       "Content-Length: 2\r\n\r\n{}",
       FrameFault::bad_header},
      {"no colon here\r\n\r\n", FrameFault::bad_header},
      {"{\"jsonrpc\":\"2.0\"}\n", FrameFault::bad_header},
      {"Content-Type: text/plain; charset=latin-1\r\nContent-Length: 2\r\n\r\n{}", FrameFault::bad_charset},
      {"X: " + std::string(9000, 'y'), FrameFault::header_too_long},
  };
  for (const auto& [bytes, fault] : cases) {
    for (const std::size_t chunk : {1U, 5U, 100'000U}) {
      const Outcome outcome = read_all(bytes, chunk);
      CAPTURE(bytes.substr(0, 60), chunk);
      REQUIRE(outcome.fault);
      CHECK(*outcome.fault == fault);
    }
    CHECK_FALSE(describe(fault).empty());
  }
}

TEST_CASE("a fault is final") {
  FrameReader reader;
  reader.feed("Content-Length: x\r\n\r\n");
  REQUIRE(reader.next());
  reader.feed(frame("{}"));
  const auto after = reader.next();
  REQUIRE(after);
  CHECK_FALSE(after->has_value());
}

TEST_CASE("a stream cut inside a message says so") {
  CHECK(read_all("Content-Length: 10\r\n\r\nabc", 4).cut);
  CHECK(read_all("Content-Le", 4).cut);
  CHECK_FALSE(read_all(frame("abc"), 4).cut);
}

TEST_CASE("lines are messages: every chunking, CRLF, blank lines and a last one without end") {
  const std::string big(100'000, 'x');
  const std::string bytes = line("{}") + "\n \r\n" + line(big) + "{\"a\":1}\r\n" + line("é漢😀") + "cut";
  for (const std::size_t chunk : {1U, 2U, 7U, 4096U, 1'000'000U}) {
    CAPTURE(chunk);
    LineReader reader;
    std::vector<std::string> bodies;
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
      reader.feed(std::string_view(bytes).substr(at, chunk));
      while (auto body = reader.next()) bodies.push_back(body->value());
    }
    CHECK(bodies == std::vector<std::string>{"{}", big, "{\"a\":1}", "é漢😀"});
    CHECK(reader.mid_message());
  }
}

TEST_CASE("a line that is too long is told once, and the next one is read") {
  LineReader reader;
  const std::string part(kMaxBodyBytes / 4 + 1, 'x');
  for (int i = 0; i < 3; ++i) {
    reader.feed(part);
    CHECK_FALSE(reader.next());
  }
  reader.feed(part);
  const auto fault = reader.next();
  REQUIRE(fault);
  CHECK(fault->error() == FrameFault::line_too_long);
  reader.feed(part);
  CHECK_FALSE(reader.next());
  reader.feed("x\n" + line("{}"));
  CHECK(reader.next()->value() == "{}");
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.mid_message());
}
