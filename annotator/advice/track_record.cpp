#include "annotator/advice/track_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"

namespace hotlens::advice {
namespace {

bool same_change(const Record& one, const Record& other) {
  return one.profile == other.profile && one.kind == other.kind;
}

// The last prediction before a record.
std::optional<Record> prediction_before(const Ledger& ledger, std::size_t at) {
  const Record& measured = ledger.records[at];
  for (std::size_t before = at; before-- > 0;) {
    const Record& one = ledger.records[before];
    if (one.event == Event::predicted && one.ratio && same_change(one, measured)) return one;
  }
  return std::nullopt;
}

void compare(Outcome& outcome) {
  if (!outcome.predicted) return;
  const lab::Ratio &predicted = *outcome.predicted->ratio, &measured = *outcome.measured().ratio;
  outcome.error = predicted.ratio / measured.ratio - 1;
  outcome.inside = predicted.low <= measured.ratio && measured.ratio <= predicted.high;
}

std::string percent(double ratio) {
  return fmt::format("{}{:.1f} %", ratio < 1 ? "−" : "+", std::abs(ratio - 1) * 100);
}

// Of a rule that tells only how much the step could lose.
bool is_bound(const Record& predicted) {
  return predicted.method == kBound;
}

std::string spelled_prediction(const Record& predicted) {
  if (is_bound(predicted)) return fmt::format("foretold at most {}", percent(predicted.ratio->low));
  return "predicted " + change_in_words(*predicted.ratio);
}

std::string spelled_measure(const Outcome& outcome) {
  std::string words;
  if (outcome.verified)
    words += fmt::format("  verified {} in {} pairs", change_in_words(*outcome.verified->ratio), outcome.verified->pairs);
  if (!outcome.seen) return words;
  return words + fmt::format("  seen {} in {}, {} → {}", change_in_words(*outcome.seen->ratio), format::harmless(outcome.seen->after),
                             format::readable(outcome.seen->step_was), format::readable(outcome.seen->step));
}

// "  off by 3.1 %, outside"; a bound is kept or it is not.
std::string spelled_error(const Outcome& outcome) {
  if (!outcome.error) return {};
  if (is_bound(*outcome.predicted)) return outcome.inside ? "  within" : "  outside";
  return fmt::format("  off by {:.1f} %{}", std::abs(*outcome.error) * 100, outcome.inside ? "" : ", outside");
}

void write_ratio(JsonText& json, const char* key, const lab::Ratio& ratio) {
  json.object(key, [&] {
    json.member("ratio", ratio.ratio);
    json.member("low", ratio.low);
    json.member("high", ratio.high);
  });
}

void write_outcome(JsonText& json, const Outcome& one) {
  json.member("time", one.measured().time);
  json.member("profile", one.measured().profile);
  json.member("kind", one.measured().kind);
  if (one.verified) {
    json.member("pairs", one.verified->pairs);
    json.member("losses", name(one.verified->losses));
    write_ratio(json, "verified", *one.verified->ratio);
  }
  if (one.seen) {
    write_ratio(json, "seen", *one.seen->ratio);
    json.member("after", one.seen->after);
    json.member("step_was_ns", one.seen->step_was.count());
    json.member("step_ns", one.seen->step.count());
  }
  if (!one.predicted) return;
  json.member("method", one.predicted->method);
  write_ratio(json, "predicted", *one.predicted->ratio);
  json.member("error", *one.error);
  json.member("inside", one.inside);
}

}  // namespace

std::string change_in_words(const lab::Ratio& ratio) {
  return fmt::format("{} ({}…{})", percent(ratio.ratio), percent(ratio.low), percent(ratio.high));
}

std::vector<Outcome> outcomes(const Ledger& ledger) {
  std::vector<Outcome> found;
  for (std::size_t at = 0; at < ledger.records.size(); ++at) {
    const Record& record = ledger.records[at];
    if (!record.ratio || (record.event != Event::verified && record.event != Event::seen)) continue;
    if (record.event == Event::seen) {
      const auto last = std::ranges::find_if(found.rbegin(), found.rend(),
                                             [&](const Outcome& one) { return same_change(one.measured(), record) && !one.seen; });
      if (last != found.rend()) {
        last->seen = record;
        continue;
      }
    }
    Outcome outcome{.verified = {}, .seen = {}, .predicted = prediction_before(ledger, at), .error = {}};
    (record.event == Event::seen ? outcome.seen : outcome.verified) = record;
    compare(outcome);
    found.push_back(std::move(outcome));
  }
  return found;
}

std::vector<KindRecord> by_kind(const std::vector<Outcome>& outcomes) {
  std::vector<KindRecord> kinds;
  for (const Outcome& one : outcomes) {
    if (!one.predicted) continue;
    const auto same = [&](const KindRecord& kind) { return kind.kind == one.predicted->kind && kind.method == one.predicted->method; };
    auto kind = std::ranges::find_if(kinds, same);
    if (kind == kinds.end())
      kind = kinds.insert(kinds.end(), {.kind = one.predicted->kind, .method = one.predicted->method, .mean_error = {}});
    const double before = static_cast<double>(kind->outcomes++);
    kind->inside += one.inside ? 1 : 0;
    if (!is_bound(*one.predicted)) kind->mean_error = (kind->mean_error.value_or(0) * before + std::abs(*one.error)) / (before + 1);
  }
  return kinds;
}

std::string as_json(const Ledger& ledger) {
  const std::vector<Outcome> found = outcomes(ledger);
  JsonText json;
  json.object([&] {
    json.member("schema", std::string_view("hotlens.track-record/1"));
    json.array("outcomes", [&] {
      for (const Outcome& one : found) json.object([&] { write_outcome(json, one); });
    });
    json.array("kinds", [&] {
      for (const KindRecord& kind : by_kind(found)) {
        json.object([&] {
          json.member("kind", kind.kind);
          json.member("method", kind.method);
          json.member("outcomes", kind.outcomes);
          json.member("inside", kind.inside);
          if (kind.mean_error) json.member("mean_error", *kind.mean_error);
        });
      }
    });
    json.array("not_counted", [&] {
      for (const Record& one : ledger.records) {
        if (one.event != Event::unseen) continue;
        json.object([&] {
          json.member("time", one.time);
          json.member("profile", one.profile);
          json.member("kind", one.kind);
          json.member("after", one.after);
          json.member("reason", one.reason);
        });
      }
    });
    json.member("predictions", std::ranges::count(ledger.records, Event::predicted, &Record::event));
    json.member("unreadable_lines", ledger.unreadable);
  });
  return std::move(json).take();
}

std::string as_text(const Ledger& ledger, bool color) {
  const format::Style style = format::style(color);
  const auto head = [&](const Record& of) {
    return fmt::format("{}{}{}  {}  {}\n", style.bold, format::harmless(of.kind), style.off, format::harmless(of.time),
                       format::harmless(of.profile));
  };
  const std::vector<Outcome> found = outcomes(ledger);
  std::string out;
  for (const Outcome& one : found) {
    const std::string predicted = one.predicted ? spelled_prediction(*one.predicted) : "not predicted";
    out += head(one.measured()) + fmt::format("  {}{}{}\n", predicted, spelled_measure(one), spelled_error(one));
  }
  for (const Record& one : ledger.records) {
    if (one.event != Event::unseen) continue;
    out += head(one) + fmt::format("  not counted in {}: {}\n", format::harmless(one.after), format::harmless(one.reason));
  }
  for (const KindRecord& kind : by_kind(found)) {
    const std::string off = kind.mean_error ? fmt::format(", off by {:.1f} % on average", *kind.mean_error * 100) : "";
    const std::string_view what = kind.method == kBound ? "within its bound" : "in its interval";
    out += fmt::format("{} ({}): {} of {} {}{}\n", format::harmless(kind.kind), format::harmless(kind.method), kind.inside, kind.outcomes,
                       what, off);
  }
  if (out.empty()) out = "no change has been verified or seen here yet: hotlens whatif fused_optimizer --verify\n";
  if (ledger.unreadable > 0) out += fmt::format("{} lines of the ledger cannot be read\n", ledger.unreadable);
  return out;
}

}  // namespace hotlens::advice
