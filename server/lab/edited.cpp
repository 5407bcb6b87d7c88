#include "server/lab/edited.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/effects/other_edits.h"
#include "annotator/lab/predict/recorded.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/spread.h"
#include "server/lab/build.h"
#include "server/lab/fetching.h"
#include "server/lab/known_edit.h"
#include "server/lab/page_faults.h"
#include "server/lab/replayable.h"
#include "server/lab/worker.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr Rounds kEditRounds{.least = 5, .most = 31, .within = milliseconds(5'000)};
constexpr Rounds kQuickRounds{.least = 5, .most = 31, .within = milliseconds(250)};
constexpr milliseconds kLongestQuick{5'000};     // of one replay, while somebody types
constexpr std::size_t kLargestFile = 4'000'000;  // bytes; no source of a model is larger
// What such ratios are off by (tests/bench/edits.py), as a fraction.
constexpr double kError = 0.06;

std::shared_ptr<const guess::Code> code_of(const fs::path& named, Result<std::string> text) {
  return text ? std::make_shared<guess::Code>(named, std::move(*text)) : nullptr;
}

// `train.py` or, after -m, `package.train`.
fs::path script_among(const std::vector<profile::SourceFile>& files, const std::vector<std::string>& argv, std::size_t& rest) {
  rest = 1;
  if (argv.empty()) return {};
  std::string name = argv[0];
  if (name == "-m" && argv.size() > 1) {
    name = argv[1];
    std::ranges::replace(name, '.', '/');
    name += ".py";
    rest = 2;
  }
  const std::string ending = "/" + fs::path(name).lexically_normal().filename().string();
  fs::path found;
  for (const profile::SourceFile& file : files) {
    const bool exact = file.path.generic_string().ends_with("/" + fs::path(name).lexically_normal().generic_string()) || file.path == name;
    if (exact) return file.path;
    if (file.path.generic_string().ends_with(ending) && found.empty()) found = file.path;
  }
  return found;
}

struct Texts {
  layers::Sources executed, edited;
};

Result<Texts> texts(const EditedAsk& ask) {
  const auto manifest = profile::read_manifest(ask.bundle);
  if (!manifest) return std::unexpected(manifest.error());
  const auto model = profile::read_model(ask.bundle);
  if (!model) return std::unexpected(model.error());
  Texts both;
  std::size_t rest = 1;
  both.executed.script = both.edited.script = script_among(model->files, manifest->argv, rest);
  if (manifest->argv.size() > rest)
    both.executed.argv = both.edited.argv = {manifest->argv.begin() + static_cast<std::ptrdiff_t>(rest), manifest->argv.end()};
  if (!model->modules.empty()) both.executed.model = both.edited.model = model->modules.front().class_name;
  std::set<fs::path> moved;
  for (const profile::SourceFile& file : model->files) {
    if (file.copy.empty()) continue;
    const auto executed = code_of(file.path, read_file_inside(ask.bundle, file.copy, kLargestFile));
    if (!executed || layers::is_too_deep(*executed)) continue;
    both.executed.files[file.path] = both.edited.files[file.path] = executed;
    if (!file.workspace) both.executed.packages.insert(file.path);
    const bool wanted = ask.files.empty() ? file.workspace : std::ranges::find(ask.files, file.path) != ask.files.end();
    if (!wanted) continue;
    const auto draft = ask.drafts.find(file.path);
    const auto now = code_of(file.path, read_file(draft == ask.drafts.end() ? file.path : draft->second, kLargestFile));
    if (!now) return std::unexpected(Error{ErrorCode::not_found, "the edited file cannot be read", file.path.string()});
    if (now->text() == executed->text()) continue;
    if (layers::is_too_deep(*now))
      return std::unexpected(Error{ErrorCode::unsupported, "the edited file is nested too deeply", file.path.string()});
    if (ts_node_has_error(now->root().node))
      return std::unexpected(Error{ErrorCode::unsupported, "the edited file is no complete Python yet", file.path.string()});
    both.edited.files[file.path] = now;
    moved.insert(file.path);
  }
  for (const profile::ModelLine& line : model->lines) {
    if (line.file.index < model->files.size()) both.executed.ran[model->files[line.file.index].path].insert(line.line);
  }
  both.edited.packages = both.executed.packages;
  both.edited.ran = both.executed.ran;
  for (const fs::path& path : moved) both.edited.ran.erase(path);  // its lines are others now
  for (const fs::path& file : ask.files) {
    if (!both.edited.files.contains(file))
      return std::unexpected(
          Error{ErrorCode::usage, "the profile knows nothing of this file: the recorded step ran none of it", file.string()});
  }
  if (both.executed.script.empty())
    return std::unexpected(Error{ErrorCode::unsupported, "the profile has no copy of its script", ask.bundle.string()});
  return both;
}

class EditTrial {
 public:
  EditTrial(const EditedAsk& ask, const Recorded& recorded, fs::path program)
      : ask_(ask), recorded_(recorded), program_(std::move(program)), room_(room_for(recorded)) {}

  // Layers that were edited: literal sizes of operators follow those of their tensors.
  Result<void> run(const layers::Rewritten& rewritten, const layers::Changes& changes, EditedStep& step) {
    const auto follow = [&](Worker& worker) -> Result<std::optional<EditRefusal>> {
      const auto followed = worker.follow(
          {{"numbers", listed(rewritten.numbers)}, {"attention", listed(rewritten.attention)}, {"recorded", rewritten.recorded}}, batch(),
          kLongest);
      if (!followed) return std::unexpected(followed.error());
      const auto error = followed->find("error");
      return error == followed->end() ? std::nullopt : std::optional(misfit(*error, rewritten.program, changes));
    };
    return run(rewritten.program, follow, kError, step);
  }

  // A what-if.
  Result<void> run(const Candidate& candidate, EditedStep& step) {
    const auto nothing = [](Worker&) -> Result<std::optional<EditRefusal>> { return std::nullopt; };
    return run(candidate.program, nothing, candidate.error, step);
  }

 private:
  template <class Follow>
  Result<void> run(const Program& edited, const Follow& follow, double error, EditedStep& step) {
    Worker worker(program_, recorded_.document, room_.bytes, encode(edited));
    ask_.say("replaying the step as it was recorded");
    const auto base = worker.step({.batches = {batch()}, .rounds = 1, .budget = longest()});
    if (!base) return std::unexpected(unreplayable(base.error()));
    const SelfCheck check = self_check(recorded_, base->front().peak);
    if (!check.ok()) return std::unexpected(fails_self_check(check));
    step.check = check;
    if (ask_.quick && base->front().wall.front() > kLongestQuick) {
      step.refused = EditRefusal{
          .reason = "the step takes too long to be replayed while typing: hotlens predict --edited", .op = {}, .module = {}, .at = {}};
      return {};
    }
    ask_.say("replaying the edited step");
    auto refused = follow(worker);
    if (!refused) return std::unexpected(refused.error());
    if (*refused) {
      step.refused = std::move(**refused);
      return {};
    }
    if (std::string reason = too_slow(2 * kEditRounds.least * base->front().wall.front()); !reason.empty()) {
      step.refused = EditRefusal{.reason = std::move(reason), .op = {}, .module = {}, .at = {}};
      return {};
    }
    const auto replays =
        worker.step({.batches = {batch()}, .rounds = rounds(base->front().wall.front()), .budget = kLongest, .edited = true});
    if (!replays) {
      step.refused = EditRefusal{.reason = replays.error().reason, .op = replays.error().op, .module = replays.error().module, .at = {}};
      return {};
    }
    tell(replays->front(), replays->back(), error, step);
    return {};
  }

  std::int64_t batch() const { return std::max<std::int64_t>(recorded_.batch, 1); }

  milliseconds longest() const { return ask_.quick ? 2 * kLongestQuick : kLongest; }

  int rounds(Ns one) const { return (ask_.quick ? kQuickRounds : kEditRounds).of(2 * one); }

  static json listed(const std::vector<Numbers>& of_modules) {
    json all = json::array();
    for (const Numbers& module : of_modules) all.push_back(module);
    return all;
  }

  void tell(const Replays& recorded, const Replays& edited, double error, EditedStep& step) const {
    step.peak_was = recorded.peak;
    step.peak = edited.peak;
    auto ratio = ratio_of(recorded, edited, error);
    if (!ratio || recorded_.steps.empty()) return;
    ratio = with_rest(*ratio, fetch_share(ask_.bundle));
    if (step.faults) ratio = unsure(*ratio, *step.faults);
    step.step_was = profile::sample(recorded_.steps).median;
    const auto scaled = [&](double by) { return Ns{std::llround(static_cast<double>(step.step_was.count()) * by)}; };
    step.time = StepTime{.step = scaled(ratio->ratio), .low = scaled(ratio->low), .high = scaled(ratio->high)};
  }

  const EditedAsk& ask_;
  const Recorded& recorded_;
  fs::path program_;
  Room room_;
};

LayerEdit edit_of(const WhatIf& item) {
  LayerEdit edit{.what = item.title, .at = {}, .modules = item.modules};
  if (item.where) edit.at = {item.where->file, item.where->line};
  return edit;
}

EditRefusal refusal(layers::Unclear why) {
  return {
      .misfit = false, .reason = std::move(why.reason), .op = std::move(why.op), .module = std::move(why.module), .at = std::move(why.at)};
}

// What is told of a line that nobody edits, of a package's file or of another one of the project's, is told where somebody typed.
class Typed {
 public:
  explicit Typed(const Texts& texts) : lines_(layers::edited_lines(texts.executed, texts.edited)) {}

  // Whether it was moved.
  bool place(layers::Line& at) const {
    const auto same = [&](const layers::Line& one) { return one.file == at.file; };
    if (lines_.empty() || (at.line >= 0 && std::ranges::any_of(lines_, same))) return false;
    at = lines_.front();
    return true;
  }

  void place(EditRefusal& refused) const {
    const layers::Line was = refused.at;
    if (place(refused.at) && was.line >= 0) refused.reason += fmt::format(" ({}:{})", fs::path(was.file).filename().string(), was.line + 1);
  }

 private:
  std::vector<layers::Line> lines_;
};

}  // namespace

Result<EditedStep> predict_edited(const EditedAsk& ask) {
  const auto recorded = read_step(ask.bundle);
  if (!recorded) return std::unexpected(recorded.error());
  const auto program = decode(recorded->document);
  if (!program) return std::unexpected(program.error());
  const auto sources = texts(ask);
  if (!sources) return std::unexpected(sources.error());
  EditedStep step{.profile = recorded->id,
                  .edits = {},
                  .check = {},
                  .refused = {},
                  .step_was = {},
                  .time = {},
                  .peak_was = {},
                  .peak = {},
                  .faults = {}};
  const auto replayed = [&](const auto& replay) -> Result<EditedStep> {
    step.unbuilt = ask.quick && !is_built(ask.python);
    if (step.unbuilt) return step;
    auto worker = worker_that_recorded(recorded->torch, ask.python, ask.say);
    if (!worker) return std::unexpected(worker.error());
    step.faults = much_faulting(ask.bundle, recorded->steps);
    EditTrial trial(ask, *recorded, std::move(*worker));
    if (const auto done = replay(trial); !done) return std::unexpected(done.error());
    return step;
  };
  const Typed typed(*sources);
  const auto changes = layers::compare(sources->executed, sources->edited, recorded->document.value("modules", json::array()));
  if (!changes) {
    if (const auto known = known_edit(ask.bundle, *program, sources->edited)) {
      step.edits = {edit_of(known->item)};
      return replayed([&](EditTrial& trial) { return trial.run(*known, step); });
    }
    step.refused = refusal(changes.error());
    typed.place(*step.refused);
    return step;
  }
  step.edits = edits_of(*changes);
  for (LayerEdit& edit : step.edits) typed.place(edit.at);
  if (step.edits.empty()) return step;
  const auto rewritten = layers::rewrite(*program, *changes);
  if (!rewritten) {
    step.refused = refusal(rewritten.error());
    typed.place(*step.refused);
    return step;
  }
  auto told = replayed([&](EditTrial& trial) { return trial.run(*rewritten, *changes, step); });
  if (told && told->refused) typed.place(*told->refused);
  return told;
}

}  // namespace hotlens::lab
