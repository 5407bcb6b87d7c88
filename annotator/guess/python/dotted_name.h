// Dotted names of modules and what they hold: "torch.nn.Linear".
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace hotlens::guess {

inline bool is_torch_name(std::string_view dotted) {
  return dotted == "torch" || dotted.starts_with("torch.");
}

// Modules of Python's own library whose names say enough: their source is not read, should somebody have its folder open.
inline bool is_standard_name(std::string_view dotted) {
  constexpr std::array<std::string_view, 8> kModules{"collections", "copy",      "dataclasses", "enum",
                                                     "functools",   "itertools", "types",       "typing"};
  return std::ranges::find(kModules, dotted.substr(0, dotted.find('.'))) != kModules.end();
}

// What is known by its name alone.
inline bool is_known_name(std::string_view dotted) {
  return is_torch_name(dotted) || is_standard_name(dotted);
}

inline std::string last_part(std::string_view dotted) {
  return std::string(dotted.substr(dotted.rfind('.') + 1));
}

// As people name classes.
inline bool names_class(std::string_view dotted) {
  const std::string_view last = dotted.substr(dotted.rfind('.') + 1);
  return !last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0;
}

}  // namespace hotlens::guess
