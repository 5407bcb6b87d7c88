#include "annotator/advice/track_record.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::advice;
namespace fs = std::filesystem;

namespace {

using hotlens::test::Folder;

Record record(Event event, const std::string& kind, double ratio) {
  return {.event = event,
          .time = "2026-11-21T10:23:00Z",
          .profile = "p",
          .kind = kind,
          .torch = "2.13.0",
          .file = "/w/train.py",
          .line = 3,
          .method = event == Event::predicted ? "replay" : "",
          .ratio = lab::Ratio{ratio, ratio * 0.95, ratio * 1.05},
          .assumes = {},
          .pairs = 4,
          .losses = Losses::close};
}

}  // namespace

TEST_CASE("a ledger gives back what was added, and counts what is no record") {
  const Folder folder;
  const fs::path file = folder.root / "ledger.jsonl";
  CHECK(read_ledger(file)->records.empty());
  REQUIRE(add(file, record(Event::predicted, "fused_optimizer", 0.9)));
  std::ofstream(file, std::ios::app) << "{\"schema\":\"hotlens.ledger/1\"\n{}\n";
  REQUIRE(add(file, record(Event::verified, "fused_optimizer", 0.88)));
  const auto ledger = read_ledger(file);
  REQUIRE(ledger);
  CHECK(ledger->unreadable == 2);
  REQUIRE(ledger->records.size() == 2);
  CHECK(ledger->records[0].method == "replay");
  CHECK(ledger->records[1].losses == Losses::close);
  CHECK(ledger->records[1].ratio->low == Approx(0.88 * 0.95));
}

TEST_CASE("a verification belongs to the last prediction of its change") {
  const Ledger ledger{.records = {record(Event::predicted, "a", 0.5), record(Event::predicted, "a", 0.9),
                                  record(Event::predicted, "b", 0.1), record(Event::verified, "a", 0.88),
                                  record(Event::predicted, "a", 0.2), record(Event::verified, "c", 1.0)}};
  const auto found = outcomes(ledger);
  REQUIRE(found.size() == 2);
  CHECK(found[0].error.value() == Approx(0.9 / 0.88 - 1));
  CHECK(found[0].inside);
  CHECK(!found[1].predicted);
  const auto document = nlohmann::json::parse(as_json(ledger));
  CHECK(document["schema"] == "hotlens.track-record/1");
  CHECK(document["outcomes"].size() == 2);
  CHECK(document["predictions"] == 4);
  CHECK(as_text(ledger, false).starts_with("a  2026-11-21T10:23:00Z  p\n  predicted −10.0 %"));
  CHECK(as_text({}, false).starts_with("no change has been verified"));
}

TEST_CASE("what a later profile saw stands beside prediction and verification, and what does not count below") {
  Record seen = record(Event::seen, "a", 0.85), alone = record(Event::seen, "b", 0.9), unseen = record(Event::unseen, "c", 1);
  seen.after = alone.after = unseen.after = "q";
  seen.step_was = Ns{41'800'000};
  seen.step = Ns{35'500'000};
  unseen.ratio.reset();
  unseen.reason = "model.py was changed as well";
  const Ledger ledger{.records = {record(Event::predicted, "a", 0.9), record(Event::verified, "a", 0.88), seen,
                                  record(Event::predicted, "b", 0.91), alone, unseen}};
  const auto found = outcomes(ledger);
  REQUIRE(found.size() == 2);
  CHECK(found[0].seen->ratio->ratio == Approx(0.85));
  CHECK(found[0].error.value() == Approx(0.9 / 0.88 - 1));
  CHECK_FALSE(found[1].verified);
  CHECK(found[1].inside);
  CHECK(found[1].error.value() == Approx(0.91 / 0.9 - 1));
  const auto document = nlohmann::json::parse(as_json(ledger));
  CHECK(document["outcomes"][0]["seen"]["ratio"] == 0.85);
  CHECK(document["not_counted"][0]["reason"] == "model.py was changed as well");
  const std::string text = as_text(ledger, false);
  CHECK(text.find("in 4 pairs  seen −15.0 % (−19.2 %…−10.8 %") != std::string::npos);
  CHECK(text.find("in q, 41.8 ms → 35.5 ms") != std::string::npos);
  CHECK(text.find("not counted in q: model.py was changed as well") != std::string::npos);
}

TEST_CASE("an applied change keeps where and what it edited") {
  const Folder folder;
  const fs::path file = folder.root / "ledger.jsonl";
  Record applied = record(Event::applied, "a", 1);
  applied.edits.push_back({.file = "/w/train.py", .line = 3, .character = 4, .end_line = 3, .end_character = 6, .was = "é", .text = "x"});
  REQUIRE(add(file, applied));
  const auto ledger = read_ledger(file);
  REQUIRE(ledger);
  REQUIRE(ledger->records.size() == 1);
  REQUIRE(ledger->records[0].edits.size() == 1);
  CHECK(ledger->records[0].edits[0].was == "é");
  CHECK(ledger->records[0].edits[0].end_character == 6);
}

TEST_CASE("each kind has a track record, a bound by whether it held") {
  Record bound = record(Event::predicted, "pin_memory", 0.8);
  bound.method = kBound;
  bound.ratio = lab::Ratio{.ratio = 0.8, .low = 0.8, .high = 1};
  const Ledger ledger{.records = {bound, record(Event::verified, "pin_memory", 0.95), bound, record(Event::seen, "pin_memory", 0.7),
                                  record(Event::predicted, "a", 0.9), record(Event::verified, "a", 0.9), record(Event::predicted, "a", 0.9),
                                  record(Event::verified, "a", 0.75)}};
  auto apart = ledger;
  apart.records[2].profile = apart.records[3].profile = "q";
  const auto kinds = by_kind(outcomes(apart));
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].kind == "pin_memory");
  CHECK(kinds[0].outcomes == 2);
  CHECK(kinds[0].inside == 1);
  CHECK_FALSE(kinds[0].mean_error);
  CHECK(kinds[1].inside == 1);
  CHECK(kinds[1].mean_error.value() == Approx(0.1));
  const std::string text = as_text(apart, false);
  CHECK(text.find("foretold at most −20.0 %  verified −5.0 %") != std::string::npos);
  CHECK(text.find("pin_memory (bound): 1 of 2 within its bound\n") != std::string::npos);
  CHECK(text.find("a (replay): 1 of 2 in its interval, off by 10.0 % on average\n") != std::string::npos);
}
