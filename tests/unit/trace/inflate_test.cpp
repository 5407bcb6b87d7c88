#include "annotator/trace/inflate.h"

#include "annotator/trace/source.h"
#include "annotator/trace/trace.h"
#include "tests/unit/catch.h"
#include "tests/unit/trace/gzip.h"

using namespace hotlens;
using namespace hotlens::trace;
using hotlens::trace::testing::gzip;

namespace {

std::string sample() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"ph\": \"X\", \"ts\": " + std::to_string(i * 7919 % 10007) + "},\n";
  return text;
}

struct Inflated {
  std::string text;
  bool damaged = false;
};

// Reads in pieces of an odd size, so that ends of pieces and members fall together nowhere.
Inflated inflated(const std::string& bytes) {
  Result<Source> source = Source::of(bytes, "t.gz");
  REQUIRE(source.has_value());
  Inflated result;
  std::string piece(4099, '\0');
  for (;;) {
    const Result<std::size_t> got = source->read(piece);
    REQUIRE(got.has_value());
    result.text += piece.substr(0, *got);
    if (*got < piece.size()) break;
  }
  result.damaged = source->damaged();
  return result;
}

}  // namespace

TEST_CASE("gzip is told by its first bytes") {
  CHECK(is_gzip(gzip("x")));
  CHECK_FALSE(is_gzip("{\"traceEvents\": []}"));
  CHECK_FALSE(is_gzip(""));
}

TEST_CASE("a whole file inflates to the text it was made of") {
  const Inflated whole = inflated(gzip(sample()));
  CHECK(whole.text == sample());
  CHECK_FALSE(whole.damaged);
}

TEST_CASE("several gzip members are one text, and padding behind them is none") {
  const Inflated whole = inflated(gzip(sample()) + gzip("tail") + gzip("") + gzip(sample()) + std::string(512, '\0'));
  CHECK(whole.text == sample() + "tail" + sample());
  CHECK_FALSE(whole.damaged);
}

TEST_CASE("a text that compresses a thousandfold still fits") {
  const std::string text(5'000'000, ' ');
  CHECK(inflated(gzip(text)).text == text);
}

TEST_CASE("a file cut short gives what is whole and says so") {
  const std::string whole = gzip(sample());
  for (const std::size_t size : {whole.size() / 4, whole.size() / 2, whole.size() - 1}) {
    const Inflated part = inflated(whole.substr(0, size));
    CAPTURE(size, part.text.size());
    CHECK(part.text.size() > sample().size() * size / whole.size() / 2);
    CHECK(sample().starts_with(part.text));
    CHECK(part.damaged);
  }
}

TEST_CASE("gzip with nothing usable in it is an error that names the file") {
  Issues issues;
  const Result<Trace> trace = read_bytes("\x1f\x8b\x08 nothing", "broken.gz", issues);
  REQUIRE_FALSE(trace.has_value());
  CHECK(trace.error().where == "broken.gz");
}

TEST_CASE("a trace inside gzip that is cut short keeps its whole events") {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < 5000; ++i) {
    text += R"({"ph": "X", "cat": "cpu_op", "name": "op)" + std::to_string(i % 97) + R"(", "pid": 1, "tid": 1, "ts": )" +
            std::to_string(i) + R"(, "dur": 1},)";
  }
  text.back() = ']';
  const std::string whole = gzip(text + "}");
  Issues issues;
  const Result<Trace> trace = read_bytes(whole.substr(0, whole.size() / 2), "t.json.gz", issues);
  REQUIRE(trace.has_value());
  CHECK(trace->events.size() > 1000);
  CHECK(trace->events.start.back() == Ns{static_cast<std::int64_t>(trace->events.size() - 1) * 1000});
  for (const Issue& issue : issues.items()) UNSCOPED_INFO(issue.code << " " << issue.count << ": " << issue.message);
  REQUIRE(issues.items().size() == 2);
  CHECK(issues.items()[0].code == "truncated-trace");
  CHECK(issues.items()[1].code == "truncated-gzip");
}
