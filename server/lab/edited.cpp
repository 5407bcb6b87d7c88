#include "server/lab/edited.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/lab/edited/made_before.h"
#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/effects/other_edits.h"
#include "annotator/lab/predict/recorded.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/beside_layers.h"
#include "server/lab/build.h"
#include "server/lab/edit_trial.h"
#include "server/lab/known_edit.h"
#include "server/lab/number_edit.h"
#include "server/lab/page_faults.h"
#include "server/lab/replayable.h"
#include "server/runs/words.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLargestFile = 4'000'000;  // bytes; no source of a model is larger
std::shared_ptr<const source::Code> code_of(const fs::path& named, Result<std::string> text) {
  return text ? std::make_shared<source::Code>(named, std::move(*text)) : nullptr;
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

LayerEdit edit_of(const WhatIf& item) {
  LayerEdit edit{.what = item.title, .at = {}, .modules = item.modules};
  if (item.where) edit.at = {item.where->file, item.where->line};
  return edit;
}

EditRefusal refusal(layers::Unclear why) {
  return {
      .misfit = false, .reason = std::move(why.reason), .op = std::move(why.op), .module = std::move(why.module), .at = std::move(why.at)};
}

// " (train.py:12)".
std::string behind(const layers::Line& at) {
  return fmt::format(" ({}:{})", fs::path(at.file).filename().string(), at.line + 1);
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
    if (place(refused.at) && was.line >= 0) refused.reason += behind(was);
  }

 private:
  std::vector<layers::Line> lines_;
};

class EditPrediction {
 public:
  EditPrediction(const EditedAsk& ask, const Recorded& recorded) : ask_(ask), recorded_(recorded), is_built_(is_built(ask.python)) {
    step_.profile = recorded.id;
    if (!ask.quick || !is_built_) return;
    if (auto worker = worker_that_recorded(recorded.torch, ask.python, ask.say)) trial_.emplace(ask, recorded, std::move(*worker));
  }

  Result<EditedStep> run() {
    auto program = decode(recorded_.document);
    if (!program) return std::unexpected(program.error());
    auto sources = texts(ask_);
    if (!sources) return std::unexpected(sources.error());
    const Texts whole = *sources;
    number_ = edited_number(whole.executed, whole.edited);
    const Typed typed(*sources);
    const auto batch = take_batch_edit(sources->executed, sources->edited, recorded_.batch);
    const auto beside = read_beside_layers(sources->executed, sources->edited, program->device != "cpu");
    if (!beside) return refused(beside.error(), typed, whole);
    const auto changes = layers::compare(beside->executed, beside->edited, recorded_.document.value("modules", json::array()));
    if (!changes) {
      const auto known = known_edit(ask_.bundle, *program, whole.edited);
      if (!known) return refused(changes.error(), typed, whole);
      step_.edits = {edit_of(known->item)};
      return replayed([&](EditTrial& one) { return one.run(*known, step_); });
    }
    if (auto unfollowed = layers::made_before(*changes, *program)) return refused(std::move(*unfollowed), typed, whole);
    step_.edits = edits_of(*changes);
    std::ranges::copy(beside->edits, std::back_inserter(step_.edits));
    for (LayerEdit& edit : step_.edits) typed.place(edit.at);
    if (batch) return of_number(*batch);
    if (step_.edits.empty()) return std::move(step_);
    auto rewritten = layers::rewrite(std::move(*program), *changes);
    auto unclear = rewritten ? std::nullopt : std::optional(rewritten.error());
    for (const auto& rewrite : beside->rewrites) {
      if (!unclear) unclear = rewrite(*rewritten);
    }
    if (unclear) return refused(std::move(*unclear), typed, whole);
    auto told = replayed([&](EditTrial& one) { return one.run(*rewritten, *changes, step_); });
    if (told && told->refused) typed.place(*told->refused);
    return told;
  }

 private:
  // Told where somebody typed, with the way to know more.
  void say_number(EditRefusal& refused) const {
    if (refused.at.line >= 0 && (refused.at.file != number_->at.file || refused.at.line != number_->at.line))
      refused.reason += behind(refused.at);
    refused.reason +=
        fmt::format("; its other values can be recorded: hotlens run --vary {} {}", number_->name, runs::quoted(recorded_.argv));
    refused.at = number_->at;
    refused.number = number_->name;
  }

  Result<EditedStep> refused(layers::Unclear why, const Typed& typed, const Texts& whole) {
    if (const auto varied = varied_alone(whole)) {
      step_.edits.clear();
      return of_number(*varied);
    }
    step_.refused = refusal(std::move(why));
    typed.place(*step_.refused);
    if (number_) say_number(*step_.refused);
    return std::move(step_);
  }

  // A number that the profile has with other values, where nothing else is edited that changes the step.
  std::optional<NumberEdit> varied_alone(Texts sources) const {
    const auto manifest = profile::read_manifest(ask_.bundle);
    if (!manifest || manifest->varied_programs.empty()) return std::nullopt;
    auto found = take_varied_edit(sources.executed, sources.edited, manifest->varied_programs);
    if (!found) return std::nullopt;
    const auto beside = read_beside_layers(sources.executed, sources.edited, !recorded_.on_cpu);
    if (!beside || !beside->edits.empty()) return std::nullopt;
    const auto changes = layers::compare(beside->executed, beside->edited, recorded_.document.value("modules", json::array()));
    return changes && edits_of(*changes).empty() ? found : std::nullopt;
  }

  Result<EditedStep> of_number(const NumberEdit& edit) {
    const bool alone = step_.edits.empty();
    const std::string name = edit.name.empty() ? "batch size" : edit.name;
    step_.edits.push_back({.what = fmt::format("{} {} → {}", name, edit.was, edit.is), .at = edit.at, .modules = {}});
    step_.unbuilt = ask_.quick && !is_built_;
    if (!alone) {
      step_.refused = {.reason = "what another batch size makes of the other edits is not followed", .at = edit.at};
    } else if (!step_.unbuilt) {
      trial_.reset();  // its worker holds the step at one size
      predict_number_edit(ask_, edit, step_);
    }
    return std::move(step_);
  }

  template <class Replay>
  Result<EditedStep> replayed(const Replay& replay) {
    step_.unbuilt = ask_.quick && !is_built_;
    if (step_.unbuilt) return std::move(step_);
    if (!trial_) {
      auto worker = worker_that_recorded(recorded_.torch, ask_.python, ask_.say);
      if (!worker) return std::unexpected(worker.error());
      trial_.emplace(ask_, recorded_, std::move(*worker));
    }
    step_.faults = much_faulting(ask_.bundle, recorded_.steps);
    if (const auto done = replay(*trial_); !done) return std::unexpected(done.error());
    return std::move(step_);
  }

  const EditedAsk& ask_;
  const Recorded& recorded_;
  bool is_built_;
  std::optional<NamedNumber> number_;  // what is edited alone
  std::optional<EditTrial> trial_;
  EditedStep step_;
};

}  // namespace

Result<EditedStep> predict_edited(const EditedAsk& ask) {
  const auto recorded = read_step(ask.bundle);
  if (!recorded) return std::unexpected(recorded.error());
  return EditPrediction(ask, *recorded).run();
}

}  // namespace hotlens::lab
