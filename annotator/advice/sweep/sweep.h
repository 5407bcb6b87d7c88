// A sweep in one: would several models of a script, trained at once with `torch.func.stack_module_state` and `vmap`, be faster than one
// after another? What a recording tells of that: what stands in the way, by line, and whether somebody is sweeping already. Whether it pays
// is measured (server/lab/sweep.h) and not foretold: it depends on operators that no recording of one model holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "annotator/advice/pairs.h"
#include "annotator/common/error.h"
#include "annotator/common/units.h"
#include "annotator/profile/build/load.h"

namespace hotlens::sweep {

struct Place {
  std::string file;
  std::int64_t line = 0;  // from 0
  bool operator==(const Place&) const = default;
};

// Something of the script that stacking stumbles over.
struct Obstacle {
  std::string kind, what;  // "fused_rnn"; the sentence says what to do
  bool stops = false;      // it cannot be stacked as it is; else it needs care
  std::optional<Place> where;
  std::int64_t count = 1;
};
// Those that stop first, each kind and line once.
std::vector<Obstacle> obstacles(const profile::Loaded& loaded);

// That somebody trains several models of one script.
struct Seen {
  std::string what;
  std::optional<Place> where;         // of a loop around the training
  std::vector<std::string> profiles;  // ids of others of the same sweep
  bool same_shapes = true;            // else the models cannot be stacked
};
// Of a bundle: a loop around the training, or earlier profiles of the same script with other numbers or arguments. Reads files.
std::optional<Seen> seen(const std::filesystem::path& bundle);
// Whether texts differ, and in numbers and strings alone.
bool differ_in_literals(std::string_view one, std::string_view other);
// The line of the innermost loop around the training that makes the model anew each time; from 0. `made`: the line that makes the model,
// `step`: that of the optimizer's step.
std::optional<std::uint32_t> loop_around(std::string_view text, std::uint32_t made, std::uint32_t step);

// One number of models, measured.
struct Attempt {
  std::int64_t models = 0;
  std::optional<advice::Measured> time;  // of all models' steps, as one to one after another
  Ns separate{}, together{};             // medians: one step of every model
  Bytes separate_peak{}, together_peak{};
  std::optional<double> difference;  // in float64; of losses, parameters and buffers
  std::string not_compared;          // why there is none
  std::string failed;                // why it was not measured
  std::optional<Place> failed_at;
  bool late = false;  // the time was over before

  bool equal() const;  // nothing tells that it is another training
  bool pays() const { return time && time->faster() && equal(); }
};

struct Trial {
  std::string refused;  // why nothing was tried; empty: it was
  std::string not_the_loops_loss;
  std::int64_t passes = 1;  // backward passes in the script's update, of which one is measured
  std::string optimizer;
  std::optional<Place> clipped;
  std::vector<Attempt> attempts;
};
// What the recorder's verb `sweep` has written.
Result<Trial> read_trial(const std::string& text);

struct Card {
  std::string profile;
  std::optional<std::int64_t> samples_per_step;
  std::vector<Obstacle> obstacles;
  std::optional<Seen> seen;
  std::optional<Trial> trial;
};

constexpr std::int64_t kStepsCompared = 20;
constexpr double kEqual = 1e-10;

std::string as_text(const Card& card, bool color);
std::string as_json(const Card& card);  // hotlens.sweep/1
// One line for lists and reports.
std::string spelled(const Seen& seen);

}  // namespace hotlens::sweep
