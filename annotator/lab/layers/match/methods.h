// What methods of a module's class do with its attributes.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

// Every function of the files by its file, its qualified name and its number among those of that name.
using Functions = std::map<std::string, Node>;
using Files = std::map<std::filesystem::path, std::shared_ptr<const source::Code>>;
Functions functions_of(const Files& files, const std::function<bool(const std::filesystem::path&)>& wanted);

bool mentions(Node node, const std::string& name);  // as an attribute

// Whether it is this node or below it.
bool is_within(Node node, Node outer);

// Names in a piece of code, not those of attributes.
void for_each_name(Node node, std::string_view name, const std::function<void(Node)>& each);

// What a function calls the argument of a call; `method`: its first parameter is the object. Null: it cannot be told.
Node parameter_for(Node argument, Node function, bool method = false);

// The function that the class or one of its bases has under this name; null: none.
Node method_of(const Ref& type, const std::string& name);

// Uses that are known to have no part in the step.
using Skips = std::function<bool(Node)>;

// `self.name` in methods other than the constructor.
void for_each_use(const Ref& type, const std::string& name, const Skips& skips, const std::function<void(Node)>& each);

// The first use of a container that is something else than a call of it; nullopt: there is none.
std::optional<Node> first_other_call(const Ref& type, const std::string& name, const Skips& skips);
// Whether a result of `self.name(…)` is taken apart as `out, (h, c)`.
bool unpacks_states(const Ref& type, const std::string& name, const Skips& skips);
// Whether its forward gives a tuple.
bool returns_several(const Ref& type);
// Whether something goes through all children, or asks for one by a text.
bool reads_children(const Ref& type, const Skips& skips);

}  // namespace hotlens::layers
