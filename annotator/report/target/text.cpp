// Time to target as people and as scripts read it (annotator/report/FORMATS.md).
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/report/target/target.h"

namespace hotlens::target {
namespace {

using format::harmless;
using format::long_time;

std::string_view name(Unit unit) {
  constexpr std::array<std::string_view, 3> kNames{"steps", "samples", "epochs"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string units(const Log& log, double count) {
  std::string_view unit = name(log.unit);
  if (count == 1) unit.remove_suffix(1);
  return fmt::format("{:.{}f} {}", count, log.unit == Unit::epochs && count != 1 ? 1 : 0, unit);
}

std::string value(double number) {
  return fmt::format("{:.4g}", number);
}

Ns scaled(Ns time, double ratio) {
  return Ns{static_cast<std::int64_t>(std::llround(static_cast<double>(time.count()) * ratio))};
}

std::string rest(const Log& log, const Answer& answer) {
  if (!answer.no_rest.empty()) return fmt::format("  rest       not known: {}\n", answer.no_rest);
  const std::string why = answer.by_trend ? ", if it goes on as in the last half of the log" : "";
  const std::string each = fmt::format("{} ({})", format::readable(*answer.each), answer.by_profile ? "as profiled" : "by the log's clock");
  const auto time = answer.rest();
  return fmt::format("  rest       {} × {} = {}{}\n", units(log, *answer.left), each, time ? long_time(*time) : "longer than anyone waits",
                     why);
}

std::string changed(const Answer& answer, const Change& change) {
  const Ns all = *answer.all();
  std::string out = fmt::format("  {}: {:.2f}x per step ({:.2f} to {:.2f}, {}) → {} instead of {}", harmless(change.kind), 1 / change.ratio,
                                1 / change.high, 1 / change.low, change.how, long_time(scaled(all, change.ratio)), long_time(all));
  if (const auto left = answer.rest(); left && !answer.reached) {
    out += fmt::format(", from now on {} instead of {}", long_time(scaled(*left, change.ratio)), long_time(*left));
  }
  return out + "\n";
}

}  // namespace

std::string as_text(const Log& log, const Answer& answer, const std::string& file, bool color) {
  const format::Style style = format::style(color);
  const std::string metric = log.metric.empty() ? "value" : harmless(log.metric);
  std::string out = fmt::format("{}Time to target{}  {}\n", style.bold, style.off, harmless(file));
  out += fmt::format("  target     {} {}; {} at first, {} {} {}\n", metric, value(answer.target), value(answer.first.value),
                     value(answer.now.value), answer.reached ? "reached at" : "after", units(log, answer.now.at));
  if (answer.took) out += fmt::format("  {}  {}\n", answer.reached ? "took     " : "so far   ", long_time(*answer.took));
  if (answer.reached && !answer.took && answer.all()) {
    out += fmt::format("  takes      {} × {} (as profiled) = {}\n", units(log, answer.now.at), format::readable(*answer.each),
                       long_time(*answer.all()));
  }
  if (!log.status.empty()) out += fmt::format("  the run ended: {}\n", harmless(log.status));
  if (!answer.reached) out += rest(log, answer);
  if (!answer.profile.empty()) out += fmt::format("  profile    {}\n", harmless(answer.profile));
  if (log.counted) out += "  the log does not tell steps: each line that fits counts as one\n";
  if (answer.all()) {
    for (const Change& change : answer.changes) out += changed(answer, change);
    if (!answer.changes.empty()) out += "  if the number of steps stays\n";
  }
  return out;
}

std::string as_json(const Log& log, const Answer& answer, const std::string& file) {
  JsonText json;
  const auto point = [&](std::string_view key, const Point& at) {
    json.object(key, [&] {
      json.member("at", at.at);
      json.member("value", at.value);
    });
  };
  json.object([&] {
    json.member("schema", std::string_view("hotlens.target/1"));
    json.member("log", file);
    json.member("source", std::string_view(log.mlperf ? "mllog" : "pattern"));
    if (!log.metric.empty()) json.member("metric", log.metric);
    json.member("unit", name(log.unit));
    json.member("unit_counted", log.counted);
    json.member("target", answer.target);
    json.member("reached", answer.reached);
    json.member("points", static_cast<std::int64_t>(log.points.size()));
    point("first", answer.first);
    point("now", answer.now);
    if (!log.status.empty()) json.member("status", log.status);
    if (answer.took) json.member("took_ns", answer.took->count());
    if (answer.each) json.member("unit_ns", answer.each->count());
    if (answer.each) json.member("unit_from", std::string_view(answer.by_profile ? "profile" : "log"));
    if (answer.left) json.member("left", *answer.left);
    if (answer.left) json.member("left_from", std::string_view(answer.by_trend ? "trend" : "asked"));
    if (answer.rest()) json.member("rest_ns", answer.rest()->count());
    if (answer.all()) json.member("all_ns", answer.all()->count());
    if (!answer.no_rest.empty()) json.member("no_rest", answer.no_rest);
    if (!answer.profile.empty()) json.member("profile", answer.profile);
    json.array("changes", [&] {
      for (const Change& change : answer.changes) {
        json.object([&] {
          json.member("kind", change.kind);
          json.member("method", change.how);
          json.member("ratio", change.ratio);
          json.member("low", change.low);
          json.member("high", change.high);
          if (answer.rest()) json.member("rest_ns", scaled(*answer.rest(), change.ratio).count());
          if (answer.all()) json.member("all_ns", scaled(*answer.all(), change.ratio).count());
        });
      }
    });
    json.member("unreadable_lines", log.unreadable);
    json.member("long_lines", log.too_long);
  });
  return std::move(json).take();
}

}  // namespace hotlens::target
