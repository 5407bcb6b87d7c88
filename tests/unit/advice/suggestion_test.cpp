#include "annotator/advice/suggestion.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

Suggestion suggestion(const std::string& kind, double ratio, std::uint32_t line) {
  return {.change = {.kind = kind, .title = kind, .where = {}, .time = lab::Ratio{ratio, ratio * 0.98, ratio * 1.02}},
          .bundle = {},
          .file = "/w/train.py",
          .at = {.text = kind, .first = line}};
}

std::optional<std::uint32_t> line_now(const LineMark& mark, std::string_view text) {
  const auto range = range_now(mark, text);
  return range ? std::optional(range->begin.line) : std::nullopt;
}

}  // namespace

TEST_CASE("a line is found again by its words, by its place among equal ones, and not once it was edited") {
  const auto mark = mark_of("a()\n  b()\r\nc()\n  b()\n", 3);
  REQUIRE(mark);
  CHECK(mark->text == "b()");
  CHECK(range_now(*mark, "b()\n\n\tb()") == source::Range{{2, 1}, {2, 4}});
  CHECK_FALSE(line_now(*mark, "b()\nd()"));
  CHECK_FALSE(line_now(*mark, "b()\nb()\nb()"));
  CHECK_FALSE(line_now(*mark, ""));
  CHECK_FALSE(mark_of("a()\n\n", 1));
  CHECK_FALSE(mark_of("a()", 9));
}

TEST_CASE("three gains are worth showing, the largest first, of an optimizer's forms the best") {
  const auto shown =
      worth_showing({suggestion("foreach_optimizer", 0.8, 1), suggestion("no_dropout", 0.9, 2), suggestion("fused_optimizer", 0.7, 1),
                     suggestion("channels_last", 0.99, 3), suggestion("gelu_to_relu", 0.85, 4), suggestion("zero_grad_none", 0.92, 5)});
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].change.kind == "fused_optimizer");
  CHECK(shown[1].change.kind == "gelu_to_relu");
  CHECK(shown[2].change.kind == "no_dropout");
  CHECK_FALSE(promises({.ratio = 0.9, .low = 0.7, .high = 1.0}));
  CHECK_FALSE(promises({.ratio = 0.985, .low = 0.98, .high = 0.99}));
}

TEST_CASE("what somebody silenced, or runs have shown to be no gain, is not worth showing") {
  Suggestion silenced = suggestion("no_dropout", 0.7, 1), no_gain = suggestion("gelu_to_relu", 0.8, 2),
             gain = suggestion("channels_last", 0.9, 3);
  silenced.change.state = lab::State::silenced;
  no_gain.change.verified = lab::Verdict{.pairs = 4, .time = {1.0, 0.99, 1.01}};
  gain.change.verified = lab::Verdict{.pairs = 6, .time = {0.872, 0.861, 0.883}, .faster = true};
  const auto shown = worth_showing({silenced, no_gain, gain});
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].change.kind == "channels_last");
  CHECK(lab::spelled(*shown[0].change.verified) == "−12.8 % ± 1.1 %, 6 pairs");
}

TEST_CASE("what frees memory is worth showing where it takes no longer, behind all that is faster") {
  const auto with_peak = [](Suggestion one, std::int64_t peak) {
    one.change.peak_was = Bytes{100};
    one.change.peak = Bytes{peak};
    return one;
  };
  const Suggestion freed = with_peak(suggestion("inplace_relu", 1.0, 1), 80);
  Suggestion slower = freed, verified = freed;
  slower.change.time = lab::Ratio{1.03, 1.01, 1.05};
  verified.change.verified = lab::Verdict{.pairs = 4, .time = {1.0, 0.99, 1.01}};
  const auto shown = worth_showing({freed, slower, with_peak(suggestion("gelu_to_relu", 1.0, 2), 96), suggestion("no_dropout", 0.9, 3)});
  REQUIRE(shown.size() == 2);
  CHECK(shown[0].change.kind == "no_dropout");
  CHECK(shown[1].change.kind == "inplace_relu");
  CHECK(worth_showing({verified}).size() == 1);
  verified.change.verified->slower = true;
  CHECK(worth_showing({verified}).empty());
}

TEST_CASE("a bound has its place among predictions, where it is large enough") {
  const auto bound = [](const std::string& kind, double least) {
    return Suggestion{.change = {.kind = kind, .title = kind, .where = {}}, .by_rule = true, .at_best = least, .file = "/w/train.py"};
  };
  const auto shown =
      worth_showing({bound("host_read", 0.95), suggestion("no_dropout", 0.8, 2), bound("unbind_time", 0.6), bound("pin_memory", 0.985)});
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].change.kind == "unbind_time");
  CHECK(shown[1].change.kind == "no_dropout");
  CHECK(shown[2].change.kind == "host_read");
  CHECK(ratio_told(shown[0]) == 0.6);
  CHECK(ratio_told(shown[1]) == 0.8);
}

TEST_CASE("what only runs tell of stands behind what promises a gain, and goes where they showed none") {
  Suggestion untold{.change = {.kind = "cudnn_benchmark", .title = "t", .where = {}}, .by_rule = true, .file = "/w/train.py"};
  CHECK(only_runs_tell(untold));
  CHECK_FALSE(only_runs_tell(suggestion("no_dropout", 0.9, 2)));
  auto shown = worth_showing({untold, suggestion("no_dropout", 0.9, 2)});
  REQUIRE(shown.size() == 2);
  CHECK(shown[1].change.kind == "cudnn_benchmark");
  untold.change.verified = lab::Verdict{.pairs = 4, .time = {0.8, 0.78, 0.82}, .faster = true};
  shown = worth_showing({suggestion("no_dropout", 0.9, 2), untold});
  REQUIRE(shown.size() == 2);
  CHECK(shown[0].change.kind == "cudnn_benchmark");
  untold.change.verified = lab::Verdict{.pairs = 4, .time = {1.0, 0.99, 1.01}};
  CHECK(worth_showing({untold}).empty());
}
