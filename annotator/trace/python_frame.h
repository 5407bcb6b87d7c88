// What the name of a Python event says ("pkg/file.py(41): forward"), and whether a person wrote that function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotlens::trace {

struct PythonFrame {
  std::string path;        // as the trace names it, usually below a folder of sys.path
  std::uint32_t line = 0;  // 0-based; where the function is defined (or first decorated), not the line it stands on
  std::string function;
};

// Nothing for modules and built-in functions.
std::optional<PythonFrame> frame_named(std::string_view name);

// Whether a person wrote the function, as far as its file tells: torch's, installed packages' and Python's own are not.
bool is_own_file(std::string_view path);

// As people read it: "train.py:41 rollout"; lines count from one.
std::string spelled(std::string_view path, std::uint32_t line, std::string_view function);

}  // namespace hotlens::trace
