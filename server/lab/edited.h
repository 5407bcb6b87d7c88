// What the edited source of a profile would cost: its constructors are followed, its recorded step is changed and replayed. Nothing of the
// user's code runs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/edited/edited.h"

namespace hotlens::lab {

struct EditedAsk {
  std::filesystem::path bundle;
  std::vector<std::filesystem::path> files;                       // that were edited; empty: every file of the project that is another now
  std::map<std::filesystem::path, std::filesystem::path> drafts;  // of a file: where its text is, which is not saved yet
  bool quick = false;                           // a moment of replays, and only with a worker that is built: somebody is typing
  bool checked = false;                         // the recorded step has been replayed before, and was the same
  std::filesystem::path python;                 // whose torch replays
  std::function<void(const std::string&)> say;  // what takes long, for people
  // Of a checked step: what is known before the whole step was replayed, where that takes a while.
  std::function<void(const EditedStep&)> first;
};

// The error: nothing can be said of this profile, and why. An edit that cannot be followed, or does not fit, is in `refused`.
Result<EditedStep> predict_edited(const EditedAsk& ask);

}  // namespace hotlens::lab
