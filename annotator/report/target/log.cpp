#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/report/target/target.h"

namespace hotlens::target {
namespace {

using nlohmann::json;

constexpr std::string_view kMark = ":::MLLOG";
constexpr std::array<std::string_view, 3> kMetrics{"eval_accuracy", "eval_loss", "eval_error"};
constexpr std::array<std::string_view, 3> kTargets{"target_accuracy", "target_eval_loss", "quality_target"};
constexpr double kMostCount = 1e15;                  // steps, samples: whole in a double
constexpr std::int64_t kMostMs = 4'000'000'000'000;  // the year 2096; a nanosecond count holds it

// Calls `each` with every line that is not too long.
template <class Each>
void for_each_line(std::string_view text, std::int64_t& too_long, const Each& each) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (end - begin > kMostLine) {
      ++too_long;
    } else if (end > begin) {
      each(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
}

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> number(const json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> position(const json& object, std::string_view key) {
  const auto value = number(object, key);
  return value && *value >= 0 && *value <= kMostCount ? value : std::nullopt;
}

// Where in the training a row is, in each unit that it tells.
struct Where {
  std::optional<double> steps, samples, epochs;
};

struct Row {
  std::string metric;
  double value = 0;
  Where where;
  Ns time{};
};

class Mllog {
 public:
  void line(std::string_view text) {
    const std::size_t mark = text.find(kMark);
    if (mark == std::string_view::npos) return;
    const json row = json::parse(text.substr(mark + kMark.size()), nullptr, false);
    const auto ms = row.is_object() ? number(row, "time_ms") : std::nullopt;
    if (!ms || *ms < 0 || *ms > static_cast<double>(kMostMs) || !row.contains("key") || !row.at("key").is_string()) {
      ++log.unreadable;
      return;
    }
    add(row, row.at("key").get<std::string>(), std::chrono::milliseconds(static_cast<std::int64_t>(*ms)));
  }

  Log log{.mlperf = true};
  std::vector<Row> rows;

 private:
  void add(const json& row, const std::string& key, Ns time) {
    log.last = std::max(log.last.value_or(time), time);
    static const json kEmpty = json::object();
    const auto found = row.find("metadata");
    const json& facts = found != row.end() && found->is_object() ? *found : kEmpty;
    if (key == "run_start") log.started = time;
    if (const auto status = facts.find("status"); key == "run_stop" && status != facts.end() && status->is_string()) {
      log.status = status->get<std::string>();
    }
    const auto value = number(row, "value");
    if (std::ranges::find(kTargets, key) != kTargets.end() && value) log.target = value;
    if (!value || rows.size() >= kMostPoints) return;
    rows.push_back({key, *value, {position(facts, "step_num"), position(facts, "samples_count"), position(facts, "epoch_num")}, time});
  }
};

std::optional<double> in(Unit unit, const Where& where) {
  return unit == Unit::steps ? where.steps : unit == Unit::samples ? where.samples : where.epochs;
}

// Steps where all rows tell them, else samples, else epochs.
std::optional<Unit> unit_of(const std::vector<Row>& rows) {
  for (const Unit unit : {Unit::steps, Unit::samples, Unit::epochs}) {
    if (std::ranges::all_of(rows, [&](const Row& row) { return in(unit, row.where).has_value(); })) return unit;
  }
  return std::nullopt;
}

Error nothing(const std::string& what) {
  return {ErrorCode::malformed, what, {}};
}

// A run that was continued writes steps again: from each such point on what was before counts no more.
void keep_course(std::vector<Point>& points) {
  std::vector<Point> kept;
  for (Point& point : points) {
    while (!kept.empty() && kept.back().at >= point.at) kept.pop_back();
    kept.push_back(std::move(point));
  }
  points = std::move(kept);
}

}  // namespace

Result<Log> read_mllog(std::string_view text, const std::string& metric) {
  Mllog reading;
  for_each_line(text, reading.log.too_long, [&](std::string_view line) { reading.line(line); });
  Log log = std::move(reading.log);
  if (!log.last) {
    return std::unexpected(
        nothing("the log has no line with `:::MLLOG` that can be read; for another log say what to look for, as in "
                "--loss-pattern 'loss ([0-9.]+)'"));
  }
  log.metric = metric;
  for (const std::string_view known : kMetrics) {
    if (log.metric.empty() && std::ranges::find(reading.rows, known, &Row::metric) != reading.rows.end()) log.metric = known;
  }
  std::erase_if(reading.rows, [&](const Row& row) { return row.metric != log.metric; });
  if (reading.rows.empty()) {
    return std::unexpected(nothing(log.metric.empty()
                                       ? "the log has no eval_accuracy, eval_loss or eval_error; name another key with --metric"
                                       : "the log has no number with the key `" + log.metric + "`"));
  }
  const auto unit = unit_of(reading.rows);
  log.unit = unit.value_or(Unit::steps);
  log.counted = !unit;
  for (std::size_t at = 0; at < reading.rows.size(); ++at) {
    const Row& row = reading.rows[at];
    log.points.push_back({unit ? *in(*unit, row.where) : static_cast<double>(at), row.value, row.time});
  }
  keep_course(log.points);
  return log;
}

Result<Log> read_pattern(std::string_view text, const Pattern& pattern) {
  if (pattern.groups() == 0) {
    return std::unexpected(Error{ErrorCode::usage, "--loss-pattern: put the number in brackets, as in 'loss ([0-9.]+)'", {}});
  }
  Log log;
  log.counted = pattern.groups() == 1;
  for_each_line(text, log.too_long, [&](std::string_view line) {
    const auto found = pattern.match(line);
    if (!found || log.points.size() >= kMostPoints) return;
    const auto value = number((*found)[pattern.groups() - 1]);
    const auto at = log.counted ? std::optional(static_cast<double>(log.points.size())) : number((*found)[0]);
    if (!value || !at || *at < 0 || *at > kMostCount) {
      ++log.unreadable;
    } else {
      log.points.push_back({*at, *value, std::nullopt});
    }
  });
  if (log.points.empty()) {
    return std::unexpected(
        nothing(log.unreadable > 0 ? "what the pattern finds in the log are no numbers" : "the pattern fits no line of the log"));
  }
  keep_course(log.points);
  return log;
}

}  // namespace hotlens::target
