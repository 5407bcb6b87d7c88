#include "annotator/advice/ledger.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/advice/append.h"
#include "annotator/common/file.h"
#include "annotator/common/format.h"
#include "annotator/common/json_text.h"

namespace hotlens::advice {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kSchema = "hotlens.ledger/1";
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::array<std::string_view, 3> kEvents{"predicted", "applied", "verified"};

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json encoded(const Record& record) {
  json line{{"schema", kSchema},   {"event", kEvents[static_cast<std::size_t>(record.event)]},
            {"time", record.time}, {"profile", record.profile},
            {"kind", record.kind}, {"torch", record.torch}};
  if (!record.file.empty()) {
    line["file"] = record.file;
    line["line"] = record.line;
  }
  if (!record.method.empty()) line["method"] = record.method;
  if (record.ratio) {
    line["ratio"] = record.ratio->ratio;
    line["low"] = record.ratio->low;
    line["high"] = record.ratio->high;
  }
  if (!record.assumes.empty()) line["assumes"] = record.assumes;
  if (record.event == Event::verified) {
    line["pairs"] = record.pairs;
    line["losses"] = name(record.losses);
  }
  return line;
}

std::optional<Record> decoded(const std::string& line) {
  try {
    const json object = json::parse(line);
    const auto* event = std::ranges::find(kEvents, text(object, "event"));
    if (text(object, "schema") != kSchema || event == kEvents.end()) return std::nullopt;
    Record record{.event = static_cast<Event>(event - kEvents.begin()),
                  .time = text(object, "time"),
                  .profile = text(object, "profile"),
                  .kind = text(object, "kind"),
                  .torch = text(object, "torch"),
                  .file = text(object, "file"),
                  .line = object.value("line", std::int64_t{0}),
                  .method = text(object, "method"),
                  .ratio = {},
                  .assumes = object.value("assumes", std::vector<std::string>{}),
                  .pairs = object.value("pairs", std::size_t{0}),
                  .losses = losses_named(text(object, "losses"))};
    if (object.contains("ratio")) record.ratio = lab::Ratio{object.at("ratio"), object.at("low"), object.at("high")};
    return record;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string percent(double ratio) {
  return fmt::format("{}{:.1f} %", ratio < 1 ? "−" : "+", std::abs(ratio - 1) * 100);
}

std::string interval(const lab::Ratio& ratio) {
  return fmt::format("{} ({}…{})", percent(ratio.ratio), percent(ratio.low), percent(ratio.high));
}

}  // namespace

fs::path ledger_of(const fs::path& bundle) {
  return bundle.parent_path().parent_path() / "ledger.jsonl";
}

Result<void> add(const fs::path& ledger, const Record& record) {
  return append_line(ledger, encoded(record).dump(-1, ' ', false, json::error_handler_t::replace), "the ledger");
}

Result<Ledger> read_ledger(const fs::path& path) {
  Ledger ledger;
  std::error_code error;
  if (!fs::exists(path, error)) return ledger;
  const auto read = read_file(path, kMostBytes);
  if (!read) return std::unexpected(read.error());
  for (std::size_t at = 0; at < read->size();) {
    const std::size_t end = std::min(read->find('\n', at), read->size());
    if (auto record = decoded(read->substr(at, end - at))) {
      ledger.records.push_back(std::move(*record));
    } else if (end > at) {
      ++ledger.unreadable;
    }
    at = end + 1;
  }
  return ledger;
}

std::vector<Outcome> outcomes(const Ledger& ledger) {
  std::vector<Outcome> found;
  for (std::size_t at = 0; at < ledger.records.size(); ++at) {
    const Record& verified = ledger.records[at];
    if (verified.event != Event::verified || !verified.ratio) continue;
    Outcome outcome{.verified = verified, .predicted = {}, .error = {}};
    for (std::size_t before = at; before-- > 0 && !outcome.predicted;) {
      const Record& one = ledger.records[before];
      const bool same = one.event == Event::predicted && one.profile == verified.profile && one.kind == verified.kind;
      if (same && one.ratio) outcome.predicted = one;
    }
    if (outcome.predicted) {
      const lab::Ratio& predicted = *outcome.predicted->ratio;
      outcome.error = predicted.ratio / verified.ratio->ratio - 1;
      outcome.inside = predicted.low <= verified.ratio->ratio && verified.ratio->ratio <= predicted.high;
    }
    found.push_back(std::move(outcome));
  }
  return found;
}

std::string as_json(const Ledger& ledger) {
  const auto write_ratio = [](JsonText& json, const char* key, const lab::Ratio& ratio) {
    json.object(key, [&] {
      json.member("ratio", ratio.ratio);
      json.member("low", ratio.low);
      json.member("high", ratio.high);
    });
  };
  JsonText json;
  json.object([&] {
    json.member("schema", std::string_view("hotlens.track-record/1"));
    json.array("outcomes", [&] {
      for (const Outcome& one : outcomes(ledger)) {
        json.object([&] {
          json.member("time", one.verified.time);
          json.member("profile", one.verified.profile);
          json.member("kind", one.verified.kind);
          json.member("pairs", one.verified.pairs);
          json.member("losses", name(one.verified.losses));
          write_ratio(json, "verified", *one.verified.ratio);
          if (!one.predicted) return;
          write_ratio(json, "predicted", *one.predicted->ratio);
          json.member("error", *one.error);
          json.member("inside", one.inside);
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
  std::string out;
  for (const Outcome& one : outcomes(ledger)) {
    const std::string predicted = one.predicted ? "predicted " + interval(*one.predicted->ratio) : "not predicted";
    const std::string error =
        one.error ? fmt::format("  off by {:.1f} %{}", std::abs(*one.error) * 100, one.inside ? "" : ", outside") : "";
    out += fmt::format("{}{}{}  {}  {}\n  {}  verified {} in {} pairs{}\n", style.bold, format::harmless(one.verified.kind), style.off,
                       format::harmless(one.verified.time), format::harmless(one.verified.profile), predicted,
                       interval(*one.verified.ratio), one.verified.pairs, error);
  }
  if (out.empty()) out = "no change has been verified here yet: hotlens whatif fused_optimizer --verify\n";
  if (ledger.unreadable > 0) out += fmt::format("{} lines of the ledger cannot be read\n", ledger.unreadable);
  return out;
}

}  // namespace hotlens::advice
