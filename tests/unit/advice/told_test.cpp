#include "annotator/advice/told.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

Record record(Event event, const std::string& kind, lab::Ratio ratio, const std::string& method = "replay") {
  return {.event = event,
          .time = {},
          .profile = "p",
          .kind = kind,
          .torch = {},
          .file = "/w/train.py",
          .line = 3,
          .method = event == Event::predicted ? method : std::string(),
          .ratio = ratio,
          .assumes = {"it holds"},
          .pairs = 4};
}

}  // namespace

TEST_CASE("of each change the last prediction counts, and the last verification") {
  const Ledger ledger{.records = {record(Event::predicted, "fused_optimizer", {0.5, 0.4, 0.6}),
                                  record(Event::verified, "fused_optimizer", {0.9, 0.88, 0.92}),
                                  record(Event::predicted, "fused_optimizer", {0.87, 0.84, 0.9}),
                                  record(Event::applied, "fused_optimizer", {0.1, 0.1, 0.1})}};
  const Tellings told = told_of(ledger, "p");
  REQUIRE(told.size() == 1);
  const Told& fused = told.at("fused_optimizer");
  CHECK(fused.predicted->ratio == 0.87);
  CHECK(fused.assumes == std::vector<std::string>{"it holds"});
  CHECK(fused.where->line == 3);
  CHECK(fused.verified->time.ratio == 0.9);
  CHECK(fused.verified->faster);
  CHECK(told_of(ledger, "another").empty());
}

TEST_CASE("bounds, kinds that nobody knows, and numbers that cannot be are no predictions") {
  const Ledger ledger{
      .records = {record(Event::predicted, "pin_memory", {0.9, 0.9, 1}, "bound"),
                  record(Event::predicted, "pin_memory", {0.9, 0.8, 1}, "profile"), record(Event::predicted, "nothing", {0.9, 0.8, 1}),
                  record(Event::predicted, "channels_last+nothing", {0.9, 0.8, 1}), record(Event::predicted, "channels_last", {0.9, 0, 1}),
                  record(Event::predicted, "no_dropout", {0.9, 0.95, 1}), record(Event::verified, "gelu_tanh", {0.9, 0.8, 1e9})}};
  CHECK(told_of(ledger, "p").empty());
}

TEST_CASE("several that are made together have one title") {
  CHECK(title_of("channels_last+autocast_bf16") == title_of("channels_last") + " and " + title_of("autocast_bf16"));
  CHECK(title_of("").empty());
  CHECK(title_of("channels_last+").empty());
}
