// Where the modules that a class holds were attached, as text for tests.
#pragma once

#include <map>
#include <set>
#include <string>

#include "annotator/guess/python/evaluator.h"
#include "tests/unit/catch.h"
#include "tests/unit/guess/python_folder.h"

namespace hotlens::guess {

using Lines = std::set<std::string>;

// The line (1-based) in `file` on which each attribute of a class was attached: "conv" -> {4}. Class names stand behind a colon where
// known.
// `script`: a file that may change its objects afterwards.
inline std::map<std::string, Lines> attributes(const PythonFolder& folder, const std::string& file, const std::string& type,
                                               const std::string& script = "") {
  Library library({folder.path()});
  const Code* later = script.empty() ? nullptr : library.file(folder.path() / script);
  Evaluator evaluator(library, later ? afterwards({later}) : Afterwards{});
  const Code* code = library.file(folder.path() / file);
  REQUIRE(code != nullptr);
  const ClassId id = evaluator.class_named(*code, type);
  REQUIRE(id != kNoClass);
  const ValueId object = evaluator.some(id);
  evaluator.entries(object);
  std::map<std::string, Lines> found;
  for (const auto* slots : {&evaluator.at(object).slots, &evaluator.at(object).entries}) {
    std::size_t position = 0;
    for (const Slot& slot : *slots) {
      for (const ValueId one : evaluator.alternatives(slot.value)) {
        const Value& place = evaluator.at(one);
        if (place.kind != Value::Kind::place || !place.node) continue;
        const ClassId made = evaluator.at(place.inner).type;
        std::string text = std::to_string(place.node.range().begin.line + 1);
        if (place.node.code->path().filename() != file) text = place.node.code->path().filename().string() + " " + text;
        if (made != kNoClass) text += ":" + evaluator.type(made).name;
        found[slot.name.empty() ? std::to_string(position) : slot.name].insert(text);
      }
      ++position;
    }
  }
  return found;
}

}  // namespace hotlens::guess
