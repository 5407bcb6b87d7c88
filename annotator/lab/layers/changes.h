// What an edit of the source changes in the layers of a model: the constructors of the executed text and of the edited one are followed
// (interpreter.h) and their results compared.
//
// The executed text must give what was recorded, module by module; else nothing is claimed. Edits of anything but constructors (forward,
// the loop, the optimizer) are refused: the recorded operators are those of the executed text.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "annotator/lab/layers/interpreter.h"

namespace hotlens::layers {

struct Line {
  std::string file;
  std::int64_t line = -1;  // from 0
};

// A layer that is made with something else, or is another one.
struct Change {
  std::string path;
  Ref was, is;
  std::string what;  // "Linear(96, 384 → 512)"
  Line at;           // in the edited text
};

struct Changes {
  std::shared_ptr<Heap> values = std::make_shared<Heap>();  // of everything below
  std::vector<Change> changes;
  std::map<std::string, Ref> was, is;  // every module by its path
  std::map<std::string, Line> lines;   // of every module, in the edited text
};

struct Unclear {
  std::string reason, module = {};
  Line at = {};
};

// `modules`: the table of the recorded program.
std::expected<Changes, Unclear> compare(const Sources& executed, const Sources& edited, const nlohmann::json& modules);

}  // namespace hotlens::layers
