#include "server/session/profiling/plan.h"

#include <algorithm>

#include "annotator/common/file.h"
#include "annotator/source/notebook/notebook.h"
#include "annotator/source/queries.h"
#include "server/runs/launchers.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;

// A training script is read to be recognised; generated files beyond this are not scripts that people write.
constexpr std::size_t kMaxScriptBytes = 1024 * 1024;
constexpr std::string_view kMask = "***";  // annotator/recorder/FORMAT.md

Error configured_wrongly(const Target& target, const std::string& what) {
  const fs::path file = target.configured ? target.configured->file : runs::configurations_file(target.folder);
  const std::string sentence = file.string() + ": for " + target.name() + ", " + what + ". Correct the file and profile again.";
  return {ErrorCode::usage, sentence, file.string()};
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
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

// As after "-m"; empty for a script.
std::string module_of(const profile::Profile& profile) {
  return is_module_run(profile) && profile.argv.size() > 1 ? profile.argv[1] : std::string();
}

std::vector<std::string> arguments_of(const profile::Profile& profile) {
  return {profile.argv.begin() + (is_module_run(profile) ? 2 : 1), profile.argv.end()};
}

// The arguments for a script that was chosen: asked for, else configured, else set, else those it had when it was profiled last.
std::string arguments_for(const Target& target, const PlanInput& input) {
  if (input.asked.args) return runs::quoted(*input.asked.args);
  if (target.configured) return target.configured->arguments;
  if (!input.settings.args.empty() && target.module.empty()) return runs::quoted(input.settings.args);
  if (!input.latest || input.latest->argv.empty()) return {};
  const bool same = target.module.empty() ? script_of(*input.latest) == target.script : module_of(*input.latest) == target.module;
  return same ? runs::quoted(arguments_of(*input.latest)) : std::string();
}

// The configuration that somebody asked for, else the chosen one.
Result<Target> with_offers(Target target, const PlanInput& input) {
  const auto kept = runs::read_folder_runs(target.folder);
  if (!kept) return std::unexpected(kept.error());
  runs::Offers offers = runs::offers_for(*kept, target.folder, target.script, target.module);
  if (const auto& label = input.asked.configuration) {
    const auto found = std::ranges::find(offers.all, *label, &runs::Configuration::label);
    if (found == offers.all.end()) {
      return std::unexpected(
          Error{ErrorCode::not_found, target.name() + " has no run configuration `" + *label + "`. Choose another one.", *label});
    }
    offers.chosen = static_cast<std::size_t>(found - offers.all.begin());
  }
  if (const runs::Configuration* used = offers.used()) {
    target.configured = *used;
    target.module = used->module;
  }
  target.offers = std::move(offers);
  target.python = kept->state.python;
  target.arguments = arguments_for(target, input);
  return target;
}

Result<Target> target_for(const fs::path& script, const PlanInput& input) {
  const fs::path folder = run_folder(script, input.folders);
  return with_offers({.folder = folder, .start = folder, .script = script}, input);
}

bool is_configured(const fs::path& script, const PlanInput& input) {
  const fs::path folder = run_folder(script, input.folders);
  const auto known = runs::read_folder_runs(folder);
  return known && runs::names_script(*known, folder, script);
}

// The only script or module that is configured in the workspace; nothing where there are several or none.
std::optional<Result<Target>> only_configured(const PlanInput& input) {
  std::optional<Target> only;
  for (const fs::path& folder : input.folders) {
    const auto known = runs::read_configurations(folder);
    for (const runs::Configuration& each : known.value_or(std::vector<runs::Configuration>{})) {
      Target found{.folder = folder, .start = folder, .script = each.script, .module = each.module};
      if (only && (only->script != found.script || only->module != found.module)) return std::nullopt;
      only = std::move(found);
    }
  }
  if (!only) return std::nullopt;
  return with_offers(*std::move(only), input);
}

Result<Target> named_script(const std::string& name, std::string_view by, const PlanInput& input) {
  std::vector<fs::path> places = input.folders;
  if (!input.document.empty()) places.push_back(input.document.parent_path());
  if (fs::path(name).is_absolute()) places = {"/"};
  for (const fs::path& place : places) {
    const fs::path script = (place / name).lexically_normal();
    if (is_file(script)) return target_for(script, input);
  }
  return std::unexpected(Error{ErrorCode::not_found,
                               std::string("The script ")
                                   .append(name)
                                   .append(" ")
                                   .append(by)
                                   .append(" does not exist in the workspace. Correct it, or open the training script and profile again."),
                               name});
}

Result<Target> again_module(const profile::Profile& latest, const PlanInput& input) {
  const fs::path root = root_of(latest), folder = run_folder(root / latest.argv.front(), input.folders);
  return with_offers({.folder = folder, .start = root, .script = {}, .module = module_of(latest)}, input);
}

Result<Target> again(const profile::Profile& latest, const PlanInput& input) {
  if (!module_of(latest).empty()) return again_module(latest, input);
  const fs::path script = script_of(latest);
  if (!is_file(script)) {
    return std::unexpected(Error{
        ErrorCode::not_found,
        "The script of the last profile, " + script.string() + ", does not exist any more. Open the training script and profile again.",
        script.string()});
  }
  auto made = target_for(script, input);
  if (made) made->start = root_of(latest);
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

Result<Target> only_script(const PlanInput& input) {
  const std::vector<fs::path> scripts = training_scripts(input.folders);
  if (scripts.size() == 1) return target_for(scripts.front(), input);
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

// An environment beside the script, else beside another workspace folder, else whatever is on PATH.
Result<runs::Python> python_for(const Target& target, const PlanInput& input, const runs::Environment& environment) {
  const bool is_written = target.configured && !target.configured->python.empty();
  // What somebody chose in the editor wins over VS Code's launch.json: it is never written.
  if (!target.python.empty() && (!is_written || target.configured->of_vscode)) {
    auto python = runs::find_python(target.python, target.folder, environment);
    if (python) return python;
    return std::unexpected(
        Error{ErrorCode::not_found, "The interpreter that was chosen, " + target.python + ", is not there any more.", {}});
  }
  if (is_written) {
    auto python = runs::find_python(target.configured->python, target.folder, environment);
    if (python) return python;
    return std::unexpected(configured_wrongly(target, "the interpreter " + target.configured->python + " is not an executable file"));
  }
  const std::string& setting = input.asked.python.empty() ? input.settings.python : input.asked.python;
  auto python = runs::find_python(setting, target.start, environment);
  for (const fs::path& folder : input.folders) {
    if (!python || python->origin != "PATH") break;
    auto other = runs::find_python(setting, folder, environment);
    if (other && other->origin != "PATH") return other;
  }
  return python;
}

// Whoever sends a folder to somebody who does not trust it shall not say what outside of it is used.
Result<void> check_places(const Target& target, bool trusted) {
  if (!target.configured) return {};
  const runs::Configuration& of = *target.configured;
  std::error_code ignored;
  if (of.module.empty() && !is_file(of.script)) return std::unexpected(configured_wrongly(target, "the script does not exist"));
  if (!fs::is_directory(of.directory, ignored)) {
    return std::unexpected(configured_wrongly(target, "the folder " + of.directory.string() + " does not exist"));
  }
  const bool stays = hotlens::is_inside(of.directory, target.folder) &&
                     (of.script.empty() || hotlens::is_inside(of.script, target.folder)) &&
                     (!of.python.contains('/') || is_inside((target.folder / of.python).lexically_normal(), target.folder));
  if (trusted || stays) return {};
  return std::unexpected(configured_wrongly(target, "it leads out of the workspace, which is not trusted"));
}

// A profile does not keep what looks like a secret: with the mask in its place the script would run with a wrong one.
bool has_masked_word(const std::vector<std::string>& command) {
  return std::ranges::any_of(command, [](const std::string& word) { return word == kMask || word.ends_with("=" + std::string(kMask)); });
}

std::vector<std::string> unsaved_names(const PlanInput& input) {
  std::vector<std::string> names;
  for (const auto& [path, text] : input.changed) {
    const Result<source::Script> on_disk = source::read_source(path, text.size());
    if (!on_disk || on_disk->text != text) names.push_back(path.filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// "-m" and the module; or the script as a person in that folder would write it: it stands in its sys.argv.
std::vector<std::string> program_of(const Target& target, const fs::path& cwd) {
  if (!target.module.empty()) return {"-m", target.module};
  // What a profile says of its script is relative to where the profile lies.
  const bool below = is_inside(target.script, cwd) && (!target.configured || cwd == target.folder);
  return {below ? target.script.lexically_relative(cwd).string() : target.script.string()};
}

// The launcher, if there is one, the program and its arguments.
Result<std::vector<std::string>> command_of(const Target& target, const fs::path& cwd, const runs::Environment& environment) {
  const std::string home = environment("HOME").value_or("");
  const auto arguments = runs::split_words(target.arguments, home);
  if (!arguments) return std::unexpected(configured_wrongly(target, "in the arguments, " + arguments.error().message));
  auto command = runs::launcher_command(target.configured ? target.configured->launcher : "", home);
  if (!command) return std::unexpected(configured_wrongly(target, "the launcher " + command.error().message));
  const std::vector<std::string> program = program_of(target, cwd);
  command->insert(command->end(), program.begin(), program.end());
  command->insert(command->end(), arguments->begin(), arguments->end());
  return command;
}

// The call that reads them, else the first argument that is declared, else the first line.
std::uint32_t arguments_line(const fs::path& script) {
  if (source::is_notebook(script)) return 0;  // it has cells, and reads no arguments as a rule
  const Result<std::string> text = read_file(script, kMaxScriptBytes);
  for (const std::string_view call : {".parse_args", ".parse_known_args", "parse_args(", "add_argument(", "@click.command"}) {
    for (std::size_t at = text ? text->find(call) : std::string::npos; at != std::string::npos; at = text->find(call, at + 1)) {
      const std::size_t begin = text->rfind('\n', at) + 1;
      if (std::string_view(*text).substr(begin, at - begin).contains("def ")) continue;
      return static_cast<std::uint32_t>(std::count(text->begin(), text->begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
  }
  return 0;
}

}  // namespace

fs::path run_folder(const fs::path& script, const std::vector<fs::path>& folders) {
  fs::path best;
  for (const fs::path& folder : folders) {
    if (is_inside(script, folder) && folder.native().size() > best.native().size()) best = folder;
  }
  return best.empty() ? script.parent_path() : best;
}

Result<Target> target_of(const PlanInput& input) {
  if (!input.asked.script.empty()) return named_script(input.asked.script, "that was asked for", input);
  if (!input.settings.script.empty()) return named_script(input.settings.script, "of the setting hotlens.profile.script", input);
  const bool trains = !input.document.empty() && input.document_tree && source::looks_like_training_script(*input.document_tree);
  const bool here = trains || (!input.document.empty() && is_configured(input.document, input));
  if (here && is_file(input.document)) return target_for(input.document, input);
  if (here) {
    return std::unexpected(Error{ErrorCode::not_found,
                                 input.document.filename().string() + " is not on disk yet. Save it and profile again.",
                                 input.document.string()});
  }
  if (input.latest && !input.latest->argv.empty()) return again(*input.latest, input);
  if (auto only = only_configured(input)) return *std::move(only);
  return only_script(input);
}

std::string choice_words(const Target& target) {
  std::string labels;
  for (const runs::Configuration& each : target.offers.all) labels.append(labels.empty() ? "" : ", ").append(each.label());
  return "Choose how " + target.name() + " is run: " + labels + ".";
}

Result<Plan> plan_run(const PlanInput& input, const runs::Environment& environment, const Result<fs::path>& recorder) {
  if (!recorder) return std::unexpected(recorder.error());
  const auto target = target_of(input);
  if (!target) return std::unexpected(target.error());
  if (target->offers.undecided() && !input.asked.args) {
    return Plan{.script = target->script, .undecided = *target};
  }
  if (const auto inside = check_places(*target, input.trusted); !inside) return std::unexpected(inside.error());
  const fs::path cwd = target->configured ? target->configured->directory : target->start;
  auto command = command_of(*target, cwd, environment);
  if (!command) return std::unexpected(command.error());
  if (has_masked_word(*command)) {
    return std::unexpected(Error{ErrorCode::usage,
                                 "The last run was given a secret, which its profile does not keep. Set hotlens.profile.args to the "
                                 "script's arguments and profile again.",
                                 {}});
  }
  const auto python = python_for(*target, input, environment);
  if (!python) return Plan{.script = target->script, .no_python = python.error().message};

  Plan plan{
      .command = std::move(*command), .script = target->module.empty() ? target->script : fs::path(), .unsaved = unsaved_names(input)};
  if (!plan.script.empty()) plan.arguments_line = arguments_line(plan.script);
  const fs::path out = target->configured ? target->folder : target->start;
  const runs::ProfileOptions options{.warmup = input.settings.warmup,
                                     .steps = input.settings.steps,
                                     .batch_sizes = input.asked.batch_sizes,
                                     .vary = input.asked.vary,
                                     .out = out};
  plan.request = {.argv = runs::profile_command(python->path, *recorder, options, plan.command),
                  .cwd = cwd,
                  .environment = {{"PYTHONUNBUFFERED", "1"}}};
  if (target->configured) {
    const auto& added = target->configured->environment;
    plan.request.environment.insert(plan.request.environment.begin(), added.begin(), added.end());
  }
  return plan;
}

}  // namespace hotlens::session
