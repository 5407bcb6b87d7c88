// What a run says to people: how far it is, and why it failed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "server/runs/run.h"

namespace hotlens::session {

// The words, and percent of the run.
std::pair<std::string, int> progress_words(const runs::Progress& progress);

// "Measuring each layer, step 2 of 3 · 12 s, about 6 s left". What is left is told once a tenth of the run is over that training takes part
// in: how long the script takes to start says nothing about its steps. `training`: since its first step began; absent before it.
std::string timed_words(const std::string& words, std::chrono::seconds elapsed, std::optional<std::chrono::seconds> training, int percent);

// `name`: of the script.
std::string failure_words(const std::string& name, const runs::RunEnd& end);

// Its interpreter cannot run the script: torch or another module is missing there, or it does not start. Another one may do.
bool python_unfit(const runs::RunEnd& end);

// The script ended because it did not like its arguments, as argparse, click and their like end one: code 2 and a text that says how it is
// used. Other arguments may help.
bool refused_arguments(const runs::RunEnd& end);

std::string unsaved_words(const std::vector<std::string>& files);

}  // namespace hotlens::session
