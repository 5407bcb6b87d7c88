// What "Profile" runs: which script, with which arguments, Python and folder. Decided from a snapshot, off the strand (it reads files).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "annotator/profile/profile.h"
#include "annotator/source/anchors.h"
#include "server/runs/configurations.h"
#include "server/runs/discovery.h"
#include "server/runs/offers.h"
#include "server/runs/run.h"
#include "server/runs/words.h"
#include "server/session/client/settings.h"

namespace hotlens::session {

// The argument of `hotlens.server.profile`.
struct ProfileArguments {
  std::string script, python;  // empty: not given
  std::optional<std::vector<std::string>> args;
  std::string uri;
  std::string batch_sizes;                   // "6,8": recorded too; empty: none
  std::vector<std::string> vary;             // numbers whose other values are
  std::vector<std::string> interpreters;     // that the editor knows, for a list to choose from
  std::optional<std::string> configuration;  // label of one that fits the script
  bool saved = false;                        // nobody asked but the setting: after a save
};

struct PlanInput {
  ProfileArguments asked;
  Settings settings;
  std::vector<std::filesystem::path> folders;      // of the workspace
  std::shared_ptr<const profile::Profile> latest;  // what the document, else the workspace shows; may be null
  std::filesystem::path document;                  // that the user looked at; may be empty
  std::optional<source::Tree> document_tree;
  std::vector<std::pair<std::filesystem::path, std::string>> changed;  // open buffers that may differ from the disk
  bool trusted = true;                                                 // the workspace
};

// The innermost workspace folder around the script, else the script's own.
std::filesystem::path run_folder(const std::filesystem::path& script, const std::vector<std::filesystem::path>& folders);

// The script that would be run, and what is known of how.
struct Target {
  std::filesystem::path folder;                   // of the workspace: its run configurations are meant
  std::filesystem::path start;                    // the folder to run in, unless it is configured
  std::filesystem::path script;                   // absolute; empty for a module that no file is known of
  std::string module;                             // not empty: run with "-m"
  std::string python;                             // somebody chose it for the folder; empty: nobody did
  std::string arguments;                          // a line for runs::split_words()
  std::optional<runs::Configuration> configured;  // that is used
  runs::Offers offers;                            // that fit the script; undecided: somebody has to choose before it runs
  std::string name() const { return module.empty() ? script.filename().string() : module; }
};
Result<Target> target_of(const PlanInput& input);

struct Plan {
  runs::RunRequest request;
  std::vector<std::string> command;  // the script and its arguments, or "-m" …
  std::filesystem::path script;      // empty with "-m"
  std::vector<std::string> unsaved;  // names of changed buffers: the run sees the disk
  std::uint32_t arguments_line = 0;  // of the script: where it reads its arguments, as far as its text shows; 0-based
  std::string no_python;             // why there is none that could run it; nothing else is set then
  std::optional<Target> undecided;   // nothing can run before somebody chooses one of its offers
};

// "Choose how train.py is run: tiny, two workers."
std::string choice_words(const Target& target);

Result<Plan> plan_run(const PlanInput& input, const runs::Environment& environment, const Result<std::filesystem::path>& recorder);

}  // namespace hotlens::session
