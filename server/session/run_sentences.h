// What a run says to people: how far it is, and why it failed.
#pragma once

#include <string>
#include <utility>

#include "server/runs/run.h"

namespace hotlens::session {

// The words, and percent of the run.
std::pair<std::string, int> progress_words(const runs::Progress& progress);

// `name`: of the script.
std::string failure_words(const std::string& name, const runs::RunEnd& end);

// The script ended because it did not like its arguments, as argparse, click and their like end one: code 2 and a text that says how it is
// used. Other arguments may help.
bool refused_arguments(const runs::RunEnd& end);

std::string unsaved_words(const std::vector<std::string>& files);

}  // namespace hotlens::session
