#include <algorithm>
#include <nlohmann/json.hpp>

#include "annotator/advice/sweep/sweep.h"
#include "annotator/profile/statistics.h"

namespace hotlens::sweep {
namespace {

using nlohmann::json;

std::optional<Place> place_of(const json& object) {
  if (!object.is_object() || !object.contains("file")) return std::nullopt;
  return Place{object.at("file").get<std::string>(), object.at("line").get<std::int64_t>()};
}

Attempt attempt_of(const json& row) {
  Attempt made;
  made.models = row.at("models").get<std::int64_t>();
  made.late = row.contains("late");
  if (made.late) return made;
  if (row.contains("failed")) {
    made.failed = row.at("failed").at("message").get<std::string>();
    made.failed_at = place_of(row.at("failed"));
    return made;
  }
  std::vector<advice::Pair> pairs;
  std::vector<Ns> separate, together;
  for (const json& pair : row.at("pairs")) {
    pairs.push_back({.before = Ns{pair.at(0).get<std::int64_t>()}, .after = Ns{pair.at(1).get<std::int64_t>()}});
    separate.push_back(pairs.back().before);
    together.push_back(pairs.back().after);
  }
  made.time = advice::measured(pairs);
  if (!made.time) {
    made.failed = "the times tell nothing";
    return made;
  }
  made.separate = profile::median(separate);
  made.together = profile::median(together);
  made.separate_peak = Bytes{row.at("separate_bytes").get<std::int64_t>()};
  made.together_peak = Bytes{row.at("together_bytes").get<std::int64_t>()};
  if (const auto found = row.find("difference"); found != row.end() && found->is_number()) made.difference = found->get<double>();
  made.not_compared = row.value("not_compared", "");
  return made;
}

}  // namespace

Result<Trial> read_trial(const std::string& text) {
  try {
    const json document = json::parse(text);
    Trial trial;
    if (document.contains("refused")) {
      trial.refused = document.at("refused").at("message").get<std::string>();
      return trial;
    }
    if (document.at("loss") != "loop") trial.not_the_loops_loss = document.at("why_not_the_loop").get<std::string>();
    trial.passes = std::max<std::int64_t>(1, document.at("passes").get<std::int64_t>());
    trial.optimizer = document.at("optimizer").get<std::string>();
    trial.clipped = place_of(document.at("clipped"));
    for (const json& row : document.at("tried")) trial.attempts.push_back(attempt_of(row));
    return trial;
  } catch (const json::exception&) {
    return std::unexpected(Error{ErrorCode::malformed, "what the script's process measured is broken", {}});
  }
}

}  // namespace hotlens::sweep
