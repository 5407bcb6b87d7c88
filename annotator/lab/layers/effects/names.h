// Which names in the edited texts mean the same: names by the scope that binds them, attributes by their name alone, whosever they are.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/effects/other_edits.h"

namespace hotlens::layers {

Node function_around(Node node);
// The nearest function or class.
Node definition_around(Node node);
// Whether it is what the node above calls this field.
bool is_field_of(Node child, Node above, std::string_view field);
// "width" of `width`, `width=1`, `width: int`, `*width`.
std::string parameter_name(Node parameter);
bool has_decorator(Node definition, std::string_view name);

// What an edited value is called somewhere. `scope`: the function, class or module that binds it; of an attribute none.
struct Named {
  Node scope;
  std::string name;
  bool attribute = false;
};

class Names {
 public:
  // Identifiers of all texts but for what changes nothing.
  Names(const Sources& sources, const Idle& idle);

  // Identifiers with this text, however they are bound.
  const std::vector<Node>& spelled(std::string_view name) const;
  // The function or module that binds the name where it stands.
  Node scope_of(Node node, const std::string& name) const;
  // Where it stands, in its own file and in those that import it.
  std::vector<Node> all_of(const Named& named) const;

 private:
  std::map<std::string, std::vector<Node>, std::less<>> index_;
};

}  // namespace hotlens::layers
