// Which layer of the edited model is which of the recorded one: those that came, went, moved on by a place or are of another kind.
//
// Children of a module are matched by name; entries of containers in order, as few as possible coming and going.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "annotator/lab/layers/value.h"

namespace hotlens::layers {

struct Line {
  std::string file;
  std::int64_t line = -1;  // from 0
};

struct Unclear {
  std::string reason, module = {};
  Line at = {};
  std::string op = {};
};

Line line_of(Node node);
bool is_module(const Ref& value);
// "Linear" of torch.nn.Linear.
std::string class_name(const Value& object);
// A container that calls its entries one after another, by torch.nn.Sequential's own forward.
bool is_sequence(const Value& module);

// A place where layers went, came or both. What is called there in the recording is what `removed` calls, else what stands between
// `before` and `after`.
struct Gap {
  std::string holder;                      // edited path
  bool sequence = false;                   // entries of `holder` are called one after another, each with what the one before gave
  std::vector<std::string> removed;        // recorded paths
  std::vector<std::string> inserted;       // edited paths
  std::vector<std::string> before, after;  // recorded paths of entries that stay, the nearest first
};

struct Alignment {
  std::map<std::string, std::string> kept;    // edited path to recorded path
  std::map<std::string, std::string> models;  // of new layers of a kind that is known from others: edited path to that of the other
  std::vector<std::string> order;             // edited paths, as named_modules() has them
  std::vector<Gap> gaps;
};

std::expected<Alignment, Unclear> align(const Ref& was, const Ref& is);

}  // namespace hotlens::layers
