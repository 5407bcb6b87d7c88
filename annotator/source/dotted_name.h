// Dotted names of modules and what they hold: "torch.nn.Linear".
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace hotlens::source {

inline bool is_torch_name(std::string_view dotted) {
  return dotted == "torch" || dotted.starts_with("torch.");
}

inline std::string last_part(std::string_view dotted) {
  return std::string(dotted.substr(dotted.rfind('.') + 1));
}

// As people name classes.
inline bool names_class(std::string_view dotted) {
  const std::string_view last = dotted.substr(dotted.rfind('.') + 1);
  return !last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0;
}

}  // namespace hotlens::source
