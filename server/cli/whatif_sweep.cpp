// Would it pay to train several models of the script as one? What the recording tells; with --try measured, in the script's own process.
#include <unistd.h>

#include <iostream>
#include <tuple>

#include "annotator/advice/sweep/kept.h"
#include "annotator/advice/sweep/sweep.h"
#include "annotator/common/harmless.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/cli/verbs.h"
#include "server/lab/sweep.h"
#include "server/runs/discovery.h"
#include "server/runs/kept_files.h"

namespace hotlens::cli {
namespace {

Result<sweep::Trial> tried(const WhatIfOptions& options, const std::filesystem::path& bundle) {
  if (std::filesystem::is_regular_file(bundle)) {
    return std::unexpected(
        Error{ErrorCode::unreadable, "a trace does not hold the script that it is of; `hotlens run` records both", bundle.string()});
  }
  const auto python = runs::find_python(options.python, std::filesystem::current_path(), runs::process_environment());
  if (!python) return std::unexpected(python.error());
  const auto say = [](const std::string& what) { std::cerr << "hotlens: " << harmless(what) << std::endl; };
  say("the script runs until its second update; then its model is measured, alone and stacked");
  return lab::try_sweep(
      {.bundle = bundle, .python = python->path, .models = options.models, .limit = std::chrono::minutes(options.limit), .say = say});
}

}  // namespace

int whatif_sweep(const WhatIfOptions& options) {
  std::string named = options.profile;
  for (const std::string& word : options.words) {
    if (word == "sweep") continue;
    if (!named.empty()) return fail({ErrorCode::usage, "`sweep` stands alone: hotlens whatif sweep --try", {}});
    named = word;
  }
  if (options.apply || options.verify || options.dry_run || options.budget > 0) {
    return fail({ErrorCode::usage, "`sweep` edits nothing; it takes --try and --models", {}});
  }
  const auto path = profile::resolve(named.empty() ? "latest" : named, std::filesystem::current_path());
  if (!path) return fail(path.error());
  const auto loaded = profile::load_annotated(*path);
  if (!loaded) return fail(loaded.error());
  sweep::Card card{.profile = loaded->profile->id,
                   .samples_per_step = loaded->profile->samples_per_step,
                   .obstacles = sweep::obstacles(*loaded),
                   .seen = sweep::seen(*path),
                   .trial = {}};
  if (options.try_it) {
    auto trial = tried(options, *path);
    if (!trial) return fail(trial.error());
    card.trial = std::move(*trial);
    std::ignore = runs::write_whole(sweep::kept_sweep(*path), sweep::as_json(card) + '\n');  // what shows the profile later has it too
  }
  std::cout << (options.format == OutputFormat::json ? sweep::as_json(card) + '\n' : sweep::as_text(card, use_colour(STDOUT_FILENO)));
  return kDone;
}

}  // namespace hotlens::cli
