// What methods of a module's class do with its attributes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "annotator/lab/layers/value.h"

namespace hotlens::layers {

// The function that the class or one of its bases has under this name; null: none.
Node method_of(const Ref& type, const std::string& name);

// `self.name` in methods other than the constructor.
void for_each_use(const Ref& type, const std::string& name, const std::function<void(Node)>& each);

// The first use of a container that is something else than a call of it; nullopt: there is none.
std::optional<Node> first_other_call(const Ref& type, const std::string& name);
// The first use of a list that is something else than `for layer in self.name: x = layer(x, …)`.
std::optional<Node> first_other_loop(const Ref& type, const std::string& name);
// Whether a result of `self.name(…)` is taken apart as `out, (h, c)`.
bool unpacks_states(const Ref& type, const std::string& name);
// Whether its forward gives a tuple.
bool returns_several(const Ref& type);
// Whether something goes through all children, or asks for one by a text.
bool reads_children(const Ref& type);

}  // namespace hotlens::layers
