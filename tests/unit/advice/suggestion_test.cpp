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
      worth_showing({suggestion("optimizer-foreach", 0.8, 1), suggestion("no-dropout", 0.9, 2), suggestion("optimizer-fused", 0.7, 1),
                     suggestion("channels-last", 0.99, 3), suggestion("gelu-to-relu", 0.85, 4), suggestion("zero-grad-none", 0.92, 5)});
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].change.kind == "optimizer-fused");
  CHECK(shown[1].change.kind == "gelu-to-relu");
  CHECK(shown[2].change.kind == "no-dropout");
  CHECK_FALSE(promises({.ratio = 0.9, .low = 0.7, .high = 1.0}));
  CHECK_FALSE(promises({.ratio = 0.985, .low = 0.98, .high = 0.99}));
}
