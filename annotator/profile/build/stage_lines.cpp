#include "annotator/profile/build/stage_lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace hotlens::profile {
namespace {

using attribution::kNothing;
using attribution::Place;
using attribution::StepAccount;

constexpr std::int64_t kGuessedPart = 20;  // one part in so many of a stage's time may have its line from what ran before
constexpr std::int64_t kTellingPart = 20;  // one part in so many of the loss is a line worth naming

std::uint32_t line_of(const Model& model, const Site& site) {
  const auto found = std::ranges::find_if(model.lines, [&](const ModelLine& line) {
    return line.file == site.file && line.line == site.line && line.function == site.function;
  });
  return found == model.lines.end() ? kNothing : static_cast<std::uint32_t>(found - model.lines.begin());
}

Ns wall_of(Stage stage, const std::vector<StepAccount>& steps) {
  Ns wall{};
  for (const StepAccount& step : steps) wall += step.wall_by_stage[static_cast<std::size_t>(stage)];
  return wall;
}

bool is_guess(Stage stage, const std::vector<StepAccount>& steps) {
  Ns guessed{};
  for (const StepAccount& step : steps) guessed += step.guessed_by_stage[static_cast<std::size_t>(stage)];
  return guessed * kGuessedPart > wall_of(stage, steps);
}

// By stage: whether its lines' parts are known.
std::array<bool, attribution::kStages> told_stages(const Model& model, const StageLines& lines, const std::vector<StepAccount>& steps) {
  std::array<bool, attribution::kStages> told;
  for (std::size_t stage = 0; stage < told.size(); ++stage) told[stage] = !is_guess(static_cast<Stage>(stage), steps);
  for (std::size_t site = 0; site < model.stages.size(); ++site) {
    if (lines.of_site[site] == kNothing) told[static_cast<std::size_t>(model.stages[site].stage)] = false;
  }
  return told;
}

bool is_in_loop(const Model& model, const ModelLine& line) {
  return std::ranges::any_of(model.stages,
                             [&](const StageSite& stage) { return stage.site.file == line.file && stage.site.function == line.function; });
}

// Where no criterion is called the loss is what the loop's own lines compute of the outputs: `(model(x) - y).pow(2).mean()`.
void add_lines_of_loss(const Model& model, StageLines& lines) {
  if (std::ranges::find(model.stages, Stage::loss, &StageSite::stage) != model.stages.end()) return;
  for (std::uint32_t row = 0; row < model.lines.size(); ++row) {
    if (!is_in_loop(model, model.lines[row])) continue;
    lines.of_loss.push_back({.row = row, .place = static_cast<std::uint32_t>(lines.places.size())});
    lines.places.push_back({Stage::loss, row});
  }
}

void fill_part(const std::vector<StepAccount>& steps, std::uint32_t place, StageSite& site) {
  for (const StepAccount& step : steps) {
    const attribution::PlaceTimes& part = step.by_place[place];
    site.wall.push_back(part.wall);
    site.cpu.push_back(part.cpu);
    site.device.push_back(part.device);
    site.waiting.push_back(part.waiting);
  }
}

void fill_whole(const std::vector<StepAccount>& steps, StageSite& site) {
  const auto stage = static_cast<std::size_t>(site.stage);
  for (const StepAccount& step : steps) {
    site.wall.push_back(step.wall_by_stage[stage]);
    site.cpu.push_back(step.cpu_by_stage[stage]);
    site.device.push_back(step.device_by_stage[stage]);
    site.waiting.push_back(step.waiting_by_stage[stage]);
  }
}

void add_sites_of_loss(const Model& model, const StageLines& lines, const std::vector<StepAccount>& steps, std::vector<StageSite>& sites) {
  if (is_guess(Stage::loss, steps)) return;
  const Ns whole = wall_of(Stage::loss, steps);
  for (const LineOfLoss& line : lines.of_loss) {
    Ns part{};
    for (const StepAccount& step : steps) part += step.by_place[line.place].wall;
    if (part * kTellingPart < whole || part == Ns{}) continue;
    const ModelLine& at = model.lines[line.row];
    sites.push_back({.site = {.file = at.file, .line = at.line, .end_line = at.line, .function = at.function}, .stage = Stage::loss});
    fill_part(steps, line.place, sites.back());
  }
}

}  // namespace

StageLines stage_lines(const Model& model) {
  StageLines lines;
  for (const StageSite& site : model.stages) {
    const Place place{site.stage, line_of(model, site.site)};
    const auto known =
        std::ranges::find_if(lines.places, [&](const Place& other) { return other.stage == place.stage && other.line == place.line; });
    const auto number = static_cast<std::uint32_t>(known - lines.places.begin());
    if (place.line != kNothing && known == lines.places.end()) lines.places.push_back(place);
    lines.of_site.push_back(place.line == kNothing ? kNothing : number);
  }
  add_lines_of_loss(model, lines);
  return lines;
}

std::vector<StageSite> stage_sites(const Model& model, const StageLines& lines, const std::vector<StepAccount>& steps) {
  const auto told = told_stages(model, lines, steps);
  std::map<std::pair<Stage, std::uint32_t>, std::uint32_t> first;  // by stage, and place where that is told
  std::vector<StageSite> sites = model.stages;
  for (std::uint32_t at = 0; at < sites.size(); ++at) {
    StageSite& site = sites[at];
    const std::uint32_t place = told[static_cast<std::size_t>(site.stage)] ? lines.of_site[at] : kNothing;
    const auto [known, fresh] = first.try_emplace({site.stage, place}, at);
    if (!fresh) {
      site.counted_at = known->second;
    } else if (place == kNothing) {
      fill_whole(steps, site);
    } else {
      fill_part(steps, place, site);
    }
  }
  add_sites_of_loss(model, lines, steps, sites);
  return sites;
}

}  // namespace hotlens::profile
