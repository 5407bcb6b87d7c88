#include "annotator/advice/ledger.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "annotator/advice/append.h"
#include "annotator/common/file.h"
#include "annotator/common/json_member.h"

namespace hotlens::advice {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kLedgerSchema = "hotlens.ledger/1";
constexpr std::size_t kMostLedgerBytes = std::size_t{64} << 20;
constexpr std::array<std::string_view, 5> kEvents{"predicted", "applied", "verified", "seen", "unseen"};

json encoded(const lab::SourceEdit& edit) {
  return {{"file", edit.file},
          {"line", edit.line},
          {"character", edit.character},
          {"end_line", edit.end_line},
          {"end_character", edit.end_character},
          {"was", edit.was},
          {"text", edit.text}};
}

lab::SourceEdit edit_of(const json& object) {
  return {.file = object.at("file"),
          .line = object.at("line"),
          .character = object.at("character"),
          .end_line = object.at("end_line"),
          .end_character = object.at("end_character"),
          .was = object.at("was"),
          .text = object.at("text")};
}

json encoded(const Record& record) {
  json line{{"schema", kLedgerSchema}, {"event", kEvents[static_cast<std::size_t>(record.event)]},
            {"time", record.time},     {"profile", record.profile},
            {"kind", record.kind},     {"torch", record.torch}};
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
  for (const lab::SourceEdit& edit : record.edits) line["edits"].push_back(encoded(edit));
  if (!record.interval.empty()) line["interval"] = record.interval;
  if (record.unsure) line["unsure"] = true;
  if (!record.after.empty()) line["after"] = record.after;
  if (!record.reason.empty()) line["reason"] = record.reason;
  if (record.peak_was > Bytes{}) {
    line["peak_was_bytes"] = count(record.peak_was);
    line["peak_bytes"] = count(record.peak);
  }
  if (record.event == Event::seen) {
    line["step_was_ns"] = record.step_was.count();
    line["step_ns"] = record.step.count();
  }
  return line;
}

std::optional<Record> decoded(const std::string& line) {
  try {
    const json object = json::parse(line);
    const auto* event = std::ranges::find(kEvents, text_member(object, "event"));
    if (text_member(object, "schema") != kLedgerSchema || event == kEvents.end()) return std::nullopt;
    Record record{.event = static_cast<Event>(event - kEvents.begin()),
                  .time = text_member(object, "time"),
                  .profile = text_member(object, "profile"),
                  .kind = text_member(object, "kind"),
                  .torch = text_member(object, "torch"),
                  .file = text_member(object, "file"),
                  .line = object.value("line", std::int64_t{0}),
                  .method = text_member(object, "method"),
                  .ratio = {},
                  .assumes = object.value("assumes", std::vector<std::string>{}),
                  .pairs = object.value("pairs", std::size_t{0}),
                  .losses = losses_named(text_member(object, "losses")),
                  .interval = text_member(object, "interval"),
                  .unsure = object.value("unsure", false),
                  .after = text_member(object, "after"),
                  .reason = text_member(object, "reason"),
                  .step_was = Ns{object.value("step_was_ns", std::int64_t{0})},
                  .step = Ns{object.value("step_ns", std::int64_t{0})},
                  .peak_was = Bytes{object.value("peak_was_bytes", std::int64_t{0})},
                  .peak = Bytes{object.value("peak_bytes", std::int64_t{0})}};
    for (const json& edit : object.value("edits", json::array())) record.edits.push_back(edit_of(edit));
    if (object.contains("ratio")) record.ratio = lab::Ratio{object.at("ratio"), object.at("low"), object.at("high")};
    return record;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string time_now() {
  return fmt::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

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
  const auto read = read_file(path, kMostLedgerBytes);
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

}  // namespace hotlens::advice
