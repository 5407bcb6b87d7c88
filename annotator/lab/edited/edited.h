// What an edited source would cost: all its edits of layers at once, from replays of the recorded and of the edited step that took turns.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/layers/changes.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/lab/program/program.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {

// One expression of the source, which may make several layers.
struct LayerEdit {
  std::string what;  // "Linear(96, 384 → 512)"
  layers::Line at;
  std::vector<std::string> modules;
};

// Why the edited model cannot run (`misfit`), or why nothing is known of it.
struct EditRefusal {
  bool misfit = false;
  std::string reason, op, module;
  layers::Line at;
  std::string number = {};  // the one that is edited, and nothing else: its other values can be recorded (`--vary`)
};

struct EditedStep {
  std::string profile;
  std::vector<LayerEdit> edits;
  std::optional<SelfCheck> check;  // absent: nothing was replayed
  std::optional<EditRefusal> refused;
  Ns step_was{};
  std::optional<StepTime> time;
  std::optional<Bytes> peak_was, peak;
  bool sampled = false;              // the time is told from one call of each kind; without a peak the whole step is still being replayed
  bool unbuilt = false;              // nothing was replayed for want of a worker, and none was to be built
  std::optional<PageFaults> faults;  // much of the step: its time is known less well
};

std::vector<LayerEdit> edits_of(const layers::Changes& changes);

// The worker stopped at an operator: in words of the source where they are known ("Linear(512, 10) gets 256 features from line 41").
EditRefusal misfit(const nlohmann::json& error, const Program& program, const layers::Changes& changes);

std::string as_json(const EditedStep& step);
// What as_json() wrote, without the self-check; the error: it is something else.
Result<EditedStep> read_edited_step(std::string_view text);
std::string as_text(const EditedStep& step, bool color);

}  // namespace hotlens::lab
