#include "annotator/report/target/target.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::target;
using namespace std::chrono_literals;

namespace {

// What the pattern's first group is in a line; "-" where it fits nowhere.
std::string group(std::string_view pattern, std::string_view line) {
  const auto read = Pattern::parse(pattern);
  REQUIRE(read);
  const auto found = read->match(line);
  return found ? std::string((*found)[0]) : "-";
}

std::string ml(std::string_view key, std::string_view value, std::int64_t ms, std::string_view facts = "{}") {
  return "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(ms) + ", \"key\": \"" + std::string(key) +
         "\", \"value\": " + std::string(value) + ", \"metadata\": " + std::string(facts) + "}\n";
}

std::string accuracies() {
  std::string text = ml("run_start", "null", 0);
  for (int at = 1; at <= 4; ++at) {
    text += ml("eval_accuracy", "0." + std::to_string(at), at * 60'000, "{\"step_num\": " + std::to_string(at * 100) + "}");
  }
  return text;
}

std::string losses() {
  std::string text;
  for (int step = 0; step < 100; step += 10) {
    text += "step " + std::to_string(step) + " loss " + std::to_string(5 - 0.02 * step) + "\n";
  }
  return text;
}

Log log_of(const std::string& text, std::string_view pattern) {
  auto log = read_pattern(text, *Pattern::parse(pattern));
  REQUIRE(log);
  return std::move(*log);
}

}  // namespace

TEST_CASE("a pattern finds the first place, and as much as it can there") {
  CHECK(group("loss ([0-9.]+)", "step 3 loss 2.50 (best)") == "2.50");
  CHECK(group("(a|ab)(?:c|bcd)", "xabcd") == "a");
  CHECK(group("x(a*)", "ax") == "");
  CHECK(group("(a*)$", "baa") == "aa");
  CHECK(group("^(\\d+)", "x1") == "-");
  CHECK(group("(\\w+)\\s*=", "lr  = 3") == "lr");
  CHECK(group("[^a-c\\]]+([x\\-])", "]z-x") == "x");
  CHECK(group("a?(b+)", "abb") == "bb");
  CHECK(group("(?:ab|c)+(d)", "abcabd") == "d");
  CHECK(group("a*(b)", "b") == "b");
  CHECK(group("loss\\((.)\\)", "loss(7)") == "7");
}

TEST_CASE("no pattern takes longer than the line and it are long") {
  const std::string line(kMostLine, 'a');
  CHECK(group("(a*)*b", line) == "-");
  CHECK(group("(?:a|a|aa)+(?:a|a)*(b)", line) == "-");
  CHECK(group("(a?)a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaaaaaaaaaaab", line) == "-");
}

TEST_CASE("a pattern that is not understood says where") {
  for (const std::string_view wrong : {"", "(a", "a)", "[a", "*a", "a**", "a{2}", "\\1", "(?=a)", "(a)(b)(c)", "a\\", "[z-a]"}) {
    INFO(wrong);
    CHECK_FALSE(Pattern::parse(wrong));
  }
  CHECK_FALSE(Pattern::parse(std::string(kMostPattern + 1, 'a')));
  CHECK_FALSE(Pattern::parse(std::string(100, '(') + std::string(100, ')')));
  CHECK(Pattern::parse("a{2}").error().message.contains("at character 2"));
}

TEST_CASE("an MLPerf log tells its time to target by its own clock") {
  const auto log = read_mllog(accuracies(), "");
  REQUIRE(log);
  CHECK(log->metric == "eval_accuracy");
  const auto reached = answer(*log, {.target = 0.3, .changes = {}});
  REQUIRE(reached);
  CHECK(reached->reached);
  CHECK(reached->took == 3min);
  const auto rest = answer(*log, {.target = 0.5, .changes = {}});
  REQUIRE(rest);
  CHECK(rest->each == 600ms);
  CHECK(rest->left.value() == Approx(100));
  CHECK(rest->rest()->count() == Approx(Ns(1min).count()));
  CHECK(rest->all()->count() == Approx(Ns(5min).count()));
}

TEST_CASE("a faster step shortens the run by its ratio, if the number of steps stays") {
  const auto log = read_mllog(accuracies(), "");
  REQUIRE(log);
  const Asked asked{.target = 0.5, .profile = "p", .changes = {{"fused_optimizer", "replayed", 0.8, 0.78, 0.82}}};
  const auto found = answer(*log, asked);
  REQUIRE(found);
  const std::string text = as_text(*log, *found, "x.log", false);
  CHECK(text.contains("so far     4 min"));
  CHECK(text.contains("100 steps × 600 ms (by the log's clock) = 60.0 s"));
  CHECK(text.contains("fused_optimizer: 1.25x per step (1.22 to 1.28, replayed) → 4 min instead of 5 min"));
  CHECK(text.contains("if the number of steps stays"));
  CHECK(as_json(*log, *found, "x.log").contains("\"ratio\": 0.8,"));
}

TEST_CASE("a log without a clock takes the step time of the profile") {
  const Log log = log_of(losses(), "step ([0-9]+) loss ([0-9.]+)");
  CHECK_FALSE(log.counted);
  const auto found = answer(log, {.target = 2.0, .step = 2s, .changes = {}});
  REQUIRE(found);
  CHECK(found->by_profile);
  CHECK(found->rest() > 119s);
  CHECK(found->rest() < 121s);
  const auto asked = answer(log, {.target = 2.0, .total = 190, .step = 2s, .changes = {}});
  REQUIRE(asked);
  CHECK(asked->rest() == 200s);
  CHECK_FALSE(answer(log, {.target = 2.0, .total = 10, .changes = {}}));
  const auto unknown = answer(log, {.target = 2.0, .changes = {}});
  REQUIRE(unknown);
  CHECK_FALSE(unknown->rest());
  CHECK(as_text(log, *unknown, "x", false).contains("rest       not known"));
}

TEST_CASE("a value that goes the wrong way has no rest") {
  const Log log = log_of("loss 3\nloss 4\nloss 5\nloss 6\nloss 7\n", "loss ([0-9.]+)");
  CHECK(log.counted);
  const auto found = answer(log, {.target = 2.0, .step = 1s, .changes = {}});
  REQUIRE(found);
  CHECK_FALSE(found->left);
  CHECK(found->no_rest.contains("does not move towards the target"));
}

TEST_CASE("a run that was continued counts its repeated steps once") {
  const Log log = log_of("step 0 loss 5\nstep 10 loss 4\nstep 20 loss 3.5\nstep 10 loss 3.9\nstep 20 loss 3\n", "step (\\d+) loss (\\S+)");
  REQUIRE(log.points.size() == 3);
  CHECK(log.points[1].value == 3.9);
}

TEST_CASE("hostile lines are counted and change nothing") {
  std::string text = accuracies();
  text += ":::MLLOG {broken\n:::MLLOG 3\n:::MLLOG {\"time_ms\": 1e300, \"key\": \"eval_accuracy\", \"value\": 1}\n";
  text += ":::MLLOG {\"time_ms\": -5, \"key\": \"run_start\"}\n:::MLLOG {\"time_ms\": 5, \"key\": 7}\n";
  text += ":::MLLOG " + std::string(2000, '[') + "\n" + std::string(kMostLine + 1, 'x') + "\n";
  text += ml("eval_accuracy", "1e999", 300'000) + ml("run_stop", "null", 240'000, "{\"status\": \"\\u001b[31mgone\"}");
  const auto log = read_mllog(text, "");
  REQUIRE(log);
  CHECK(log->points.size() == 4);
  CHECK(log->unreadable == 7);
  CHECK(log->too_long == 1);
  const auto found = answer(*log, {.target = 0.5, .changes = {}});
  REQUIRE(found);
  CHECK_FALSE(as_text(*log, *found, "\x1b[2Jx.log", false).contains('\x1b'));
}

TEST_CASE("a log that tells nothing says what to do") {
  CHECK(read_mllog("epoch 1\n", "").error().message.contains("--loss-pattern"));
  CHECK(read_mllog(ml("run_start", "null", 5), "").error().message.contains("--metric"));
  CHECK(read_mllog(accuracies(), "mAP").error().message.contains("mAP"));
  CHECK(read_pattern("a\n", *Pattern::parse("(b)")).error().message.contains("fits no line"));
  CHECK(read_pattern("loss nan\n", *Pattern::parse("loss (.*)")).error().message.contains("no numbers"));
  CHECK_FALSE(read_pattern("a\n", *Pattern::parse("a")));
  const auto log = read_mllog(accuracies(), "");
  CHECK(answer(*log, {.changes = {}}).error().message.contains("--target"));
}
