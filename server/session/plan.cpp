#include "server/session/plan.h"

#include <algorithm>

#include "annotator/common/file.h"
#include "annotator/source/queries.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;

// A training script is read to be recognised; generated files beyond this are not scripts that people write.
constexpr std::size_t kMaxScriptBytes = 1024 * 1024;
constexpr std::string_view kMask = "***";  // annotator/recorder/FORMAT.md

struct Choice {
  std::vector<std::string> command;  // absolute script and arguments, or "-m" …
  fs::path folder;                   // to run in
};

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The innermost workspace folder around the script, else the script's own.
fs::path folder_of(const fs::path& script, const std::vector<fs::path>& folders) {
  fs::path best;
  for (const fs::path& folder : folders) {
    if (is_inside(script, folder) && folder.native().size() > best.native().size()) best = folder;
  }
  return best.empty() ? script.parent_path() : best;
}

// <root>/.hotlens/profiles/<id>: the folder the run started in.
fs::path root_of(const profile::Profile& profile) {
  return profile.folder.empty() ? fs::path() : profile.folder.parent_path().parent_path().parent_path();
}

bool is_module_run(const profile::Profile& profile) {
  return !profile.argv.empty() && profile.argv.front() == "-m";
}

fs::path script_of(const profile::Profile& profile) {
  if (profile.argv.empty() || is_module_run(profile)) return {};
  return (root_of(profile) / profile.argv.front()).lexically_normal();
}

std::vector<std::string> arguments_of(const profile::Profile& profile) {
  return {profile.argv.begin() + 1, profile.argv.end()};
}

// The arguments for a script that was chosen: asked for, else set, else those it had when it was profiled last.
std::vector<std::string> arguments_for(const fs::path& script, const PlanInput& input) {
  if (input.asked.args) return *input.asked.args;
  if (!input.settings.args.empty()) return input.settings.args;
  if (input.latest && script_of(*input.latest) == script) return arguments_of(*input.latest);
  return {};
}

Choice choice(const fs::path& script, const PlanInput& input) {
  Choice made{{script.string()}, folder_of(script, input.folders)};
  const std::vector<std::string> args = arguments_for(script, input);
  made.command.insert(made.command.end(), args.begin(), args.end());
  return made;
}

Result<Choice> named_script(const std::string& name, std::string_view by, const PlanInput& input) {
  std::vector<fs::path> places = input.folders;
  if (!input.document.empty()) places.push_back(input.document.parent_path());
  if (fs::path(name).is_absolute()) places = {"/"};
  for (const fs::path& place : places) {
    const fs::path script = (place / name).lexically_normal();
    if (is_file(script)) return choice(script, input);
  }
  return std::unexpected(Error{ErrorCode::not_found,
                               std::string("The script ")
                                   .append(name)
                                   .append(" ")
                                   .append(by)
                                   .append(" does not exist in the workspace. Correct it, or open the training script and profile again."),
                               name});
}

Result<Choice> again(const profile::Profile& latest, const PlanInput& input) {
  const fs::path root = root_of(latest);
  if (is_module_run(latest)) {
    Choice made{latest.argv, root};
    if (input.asked.args && made.command.size() >= 2) {
      made.command.resize(2);
      made.command.insert(made.command.end(), input.asked.args->begin(), input.asked.args->end());
    }
    return made;
  }
  const fs::path script = script_of(latest);
  if (!is_file(script)) {
    return std::unexpected(Error{
        ErrorCode::not_found,
        "The script of the last profile, " + script.string() + ", does not exist any more. Open the training script and profile again.",
        script.string()});
  }
  Choice made = choice(script, input);
  if (!root.empty()) made.folder = root;
  return made;
}

std::vector<fs::path> training_scripts(const std::vector<fs::path>& folders) {
  std::vector<fs::path> scripts;
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() != ".py") continue;
      auto text = read_file(entry.path(), kMaxScriptBytes);
      if (text && source::looks_like_training_script(source::Tree::parse(std::move(*text)))) scripts.push_back(entry.path());
    }
  }
  std::ranges::sort(scripts);
  return scripts;
}

Result<Choice> only_script(const PlanInput& input) {
  const std::vector<fs::path> scripts = training_scripts(input.folders);
  if (scripts.size() == 1) return choice(scripts.front(), input);
  if (scripts.empty()) {
    return std::unexpected(
        Error{ErrorCode::usage,
              "No training script was found at the top of the workspace. Open the script that trains the model and profile "
              "again, or set hotlens.profile.script.",
              {}});
  }
  std::string names;
  for (const fs::path& script : scripts) names.append(names.empty() ? "" : ", ").append(script.filename().string());
  return std::unexpected(
      Error{ErrorCode::usage,
            "Several files look like training scripts: " + names + ". Open the one to profile, or set hotlens.profile.script.",
            {}});
}

Result<Choice> choose(const PlanInput& input) {
  if (!input.asked.script.empty()) return named_script(input.asked.script, "that was asked for", input);
  if (!input.settings.script.empty()) return named_script(input.settings.script, "of the setting hotlens.profile.script", input);
  const bool here = !input.document.empty() && input.document_tree && source::looks_like_training_script(*input.document_tree);
  if (here && is_file(input.document)) return choice(input.document, input);
  if (here) {
    return std::unexpected(Error{ErrorCode::not_found,
                                 input.document.filename().string() + " is not on disk yet. Save it and profile again.",
                                 input.document.string()});
  }
  if (input.latest && !input.latest->argv.empty()) return again(*input.latest, input);
  return only_script(input);
}

// An environment beside the script, else beside another workspace folder, else whatever is on PATH.
Result<runs::Python> python_for(const Choice& chosen, const PlanInput& input, const runs::Environment& environment) {
  const std::string& setting = input.asked.python.empty() ? input.settings.python : input.asked.python;
  auto python = runs::find_python(setting, chosen.folder, environment);
  for (const fs::path& folder : input.folders) {
    if (!python || python->origin != "PATH") break;
    auto other = runs::find_python(setting, folder, environment);
    if (other && other->origin != "PATH") return other;
  }
  return python;
}

// A profile does not keep what looks like a secret: with the mask in its place the script would run with a wrong one.
bool has_masked_word(const std::vector<std::string>& command) {
  return std::ranges::any_of(command, [](const std::string& word) { return word == kMask || word.ends_with("=" + std::string(kMask)); });
}

std::vector<std::string> unsaved_names(const PlanInput& input) {
  std::vector<std::string> names;
  for (const auto& [path, text] : input.changed) {
    const Result<std::string> on_disk = read_file(path, text.size());
    if (!on_disk || *on_disk != text) names.push_back(path.filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<Plan> plan_run(const PlanInput& input, const runs::Environment& environment, const Result<fs::path>& recorder) {
  if (!recorder) return std::unexpected(recorder.error());
  auto chosen = choose(input);
  if (!chosen) return std::unexpected(chosen.error());
  if (has_masked_word(chosen->command)) {
    return std::unexpected(Error{ErrorCode::usage,
                                 "The last run was given a secret, which its profile does not keep. Set hotlens.profile.args to the "
                                 "script's arguments and profile again.",
                                 {}});
  }
  const auto python = python_for(*chosen, input, environment);
  if (!python) return std::unexpected(python.error());

  Plan plan{.command = std::move(chosen->command), .unsaved = unsaved_names(input)};
  if (plan.command.front() != "-m") {
    plan.script = plan.command.front();
    // As a person in that folder would write it; the script sees it in sys.argv.
    if (is_inside(plan.script, chosen->folder)) plan.command.front() = plan.script.lexically_relative(chosen->folder).string();
  }
  const runs::ProfileOptions options{
      .warmup = input.settings.warmup, .steps = input.settings.steps, .batch_sizes = input.asked.batch_sizes, .out = chosen->folder};
  plan.request = {.argv = runs::profile_command(python->path, *recorder, options, plan.command),
                  .cwd = chosen->folder,
                  .environment = {{"PYTHONUNBUFFERED", "1"}}};
  return plan;
}

}  // namespace hotlens::session
