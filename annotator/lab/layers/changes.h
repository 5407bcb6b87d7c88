// What an edit of the source changes in the layers of a model: the constructors of the executed text and of the edited one are followed
// (interpreter.h) and their results compared.
//
// The executed text must give what was recorded, module by module; else nothing is claimed. Edits of anything but constructors (forward,
// the loop, the optimizer) are refused: the recorded operators are those of the executed text. Layers may come, go and be of another kind.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// A layer that is made with something else.
struct Change {
  std::string path;
  Ref was, is;
  std::string what;  // "Linear(96, 384 → 512)"
  Line at;           // in the edited text
};

// A layer that came or went, or both: "ReLU → GELU", "Dropout(0.1) added".
struct Structural {
  std::string path, what;
  Line at;  // in the edited text
};

struct Changes {
  std::shared_ptr<Heap> values = std::make_shared<Heap>();  // of everything below
  std::vector<Change> changes;
  std::vector<Structural> structural;
  Alignment alignment;
  std::map<std::string, Ref> was, is;  // every module by its edited path; a new one was what it is modelled on, or nothing
  std::map<std::string, Line> lines;   // of every module, in the edited text
  std::vector<Sized> sized;            // where the script, or a function, makes tensors of an edited size
  bool draws = false;                  // numbers that were edited bound what the script draws at random
  std::vector<std::pair<std::int64_t, std::int64_t>> script;  // whole numbers that the script's names stand for, as executed and as edited
};

// `modules`: the table of the recorded program.
std::expected<Changes, Unclear> compare(const Sources& executed, const Sources& edited, const nlohmann::json& modules);

}  // namespace hotlens::layers
