#include "annotator/advice/learned.h"

#include <cmath>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

// Predictions of 0.8, each of its own profile, and what was measured: off by these fractions.
Ledger ledger_of(const std::vector<double>& off, const std::string& kind = "a") {
  Ledger ledger;
  for (std::size_t at = 0; at < off.size(); ++at) {
    Record predicted{.event = Event::predicted, .profile = "p" + std::to_string(at), .kind = kind, .method = std::string(kReplay)};
    predicted.ratio = lab::Ratio{0.8, 0.74, 0.86};
    Record measured = predicted;
    measured.event = at % 2 == 0 ? Event::verified : Event::seen;
    measured.ratio = lab::Ratio{0.8 * (1 + off[at]), 0.1, 2};
    ledger.records.push_back(predicted);
    ledger.records.push_back(measured);
  }
  return ledger;
}

}  // namespace

TEST_CASE("fewer than eight outcomes of a kind teach nothing") {
  const std::vector<double> seven(7, 0.02), eight(8, 0.02);
  CHECK_FALSE(learned(ledger_of(seven), "a", kReplay));
  CHECK(learned(ledger_of(eight), "a", kReplay));
  CHECK_FALSE(learned(ledger_of(eight), "b", kReplay));
  CHECK_FALSE(learned(ledger_of(eight), "a", kProfile));
}

TEST_CASE("one profile verified again and again is one outcome, the last") {
  Ledger ledger = ledger_of(std::vector<double>(8, 0.02));
  for (Record& record : ledger.records) record.profile = "p";
  CHECK_FALSE(learned(ledger, "a", kReplay));
}

TEST_CASE("what was said to be unsure teaches nothing") {
  Ledger ledger = ledger_of(std::vector<double>(8, 0.02));
  ledger.records.front().unsure = true;
  CHECK_FALSE(learned(ledger, "a", kReplay));
}

TEST_CASE("an interval that was learned is wider or narrower, and holds 85 % of the past") {
  const auto narrow = learned(ledger_of({0.02, -0.02, 0.01, 0.02, -0.01, 0.02, 0.01, 0.02}), "a", kReplay);
  REQUIRE(narrow);
  CHECK(narrow->error == Approx(-std::log(0.98)));
  CHECK(narrow->inside == 8);
  const auto wide = learned(ledger_of({0.3, 0.01, 0.02, 0.25, 0.02, 0.01, 0.2, 0.02}), "a", kReplay);
  CHECK(wide->error == Approx(std::log(1.3)));
  std::vector<double> hundred;
  for (int at = 1; at <= 100; ++at) hundred.push_back(at * 0.002);
  const auto many = learned(ledger_of(hundred), "a", kReplay);
  CHECK(many->inside >= 85);
  CHECK(many->inside < 90);
  CHECK(sentence(*many) == "as 100 such changes turned out here: 86 of them within 17.2 %");
}

TEST_CASE("outcomes that all agree promise no more than a machine can repeat") {
  CHECK(learned(ledger_of(std::vector<double>(20, 0.0)), "a", kReplay)->error == Approx(0.01));
}

TEST_CASE("the noise of a prediction is in its learned interval") {
  const Learned error{.outcomes = 8, .inside = 8, .error = 0.04};
  const lab::Ratio exact = with_learned({.ratio = 0.8, .low = 0.8, .high = 0.8}, error);
  CHECK(exact.high == Approx(0.8 * std::exp(0.04)));
  CHECK(exact.low == Approx(0.8 / std::exp(0.04)));
  const lab::Ratio noisy = with_learned({.ratio = 0.8, .low = 0.8 / std::exp(0.03), .high = 0.8 * std::exp(0.03)}, error);
  CHECK(noisy.high == Approx(0.8 * std::exp(0.05)));
}
