// Which of the models that a script makes is the recorded one, and what the recording knows of its layers.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

using Modules = std::map<std::string, Ref>;                     // by path; "" is the root
using Recorded = std::map<std::string, const nlohmann::json*>;  // rows of the recorded program's table, by path

// A module and all below it; one that is held twice has its first path.
Modules flattened(const Ref& root);
// Below a path of their own: other models of the script.
void add_below(Modules& to, const Ref& root, const std::string& path);
// Modules of a class that no other module holds, in the order in which they were made.
std::vector<Ref> roots(const Interpreter& followed, const std::string& type);
// The one among the script's models that is the recorded one, as its number among `candidates`.
std::optional<std::size_t> recorded_root(const std::vector<Ref>& candidates, const Recorded& recorded);
// Models beside the recorded one, as a GAN's discriminator: the path that each has in the table, and its number among `roots` of its class.
std::map<std::string, std::size_t> other_roots(const Interpreter& followed, const Recorded& recorded, const Modules& model);
// Unknown arguments of recorded layers have the values that were recorded.
void learn(const Modules& modules, const Recorded& recorded, Heap& heap, std::map<std::string, Ref>& known);
// Whether a recorded module that was not seen to be made is no reason to refuse; false: it is made by something that is not known.
bool stands_for(const Modules& modules, const std::string& path);

}  // namespace hotlens::layers
