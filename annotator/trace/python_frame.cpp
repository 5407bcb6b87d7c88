#include "annotator/trace/python_frame.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hotlens::trace {

std::optional<PythonFrame> frame_named(std::string_view name) {
  const std::size_t colon = name.rfind("): ");
  const std::size_t open = colon == std::string_view::npos ? colon : name.rfind('(', colon);
  if (open == std::string_view::npos) return std::nullopt;
  std::uint32_t line = 0;
  const auto [end, error] = std::from_chars(name.data() + open + 1, name.data() + colon, line);
  if (error != std::errc{} || end != name.data() + colon || line == 0) return std::nullopt;
  return PythonFrame{std::string(name.substr(0, open)), line - 1, std::string(name.substr(colon + 3))};
}

bool is_own_file(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kInstalled{"site-packages/", "dist-packages/", "/lib/python3", "/lib64/python3"};
  static constexpr std::array<std::string_view, 3> kTorchs{"torch/", "torchvision/", "torchaudio/"};
  // Of Python's library what runs in a training step; a trace names it from its folder on.
  static constexpr auto kPythons = std::to_array<std::string_view>(
      {"_weakrefset.py", "abc.py",    "asyncio/",     "codecs.py",     "collections/",     "concurrent/",   "contextlib.py", "copy.py",
       "dataclasses.py", "enum.py",   "fractions.py", "functools.py",  "genericpath.py",   "glob.py",       "gzip.py",       "importlib/",
       "inspect.py",     "json/",     "linecache.py", "logging/",      "multiprocessing/", "numbers.py",    "operator.py",   "os.py",
       "pathlib.py",     "pickle.py", "posixpath.py", "queue.py",      "random.py",        "re.py",         "re/",           "runpy.py",
       "selectors.py",   "shutil.py", "socket.py",    "statistics.py", "string.py",        "subprocess.py", "tempfile.py",   "threading.py",
       "traceback.py",   "types.py",  "typing.py",    "uuid.py",       "warnings.py",      "weakref.py",    "zipfile.py",    "zipfile/"});
  const auto begins = [&](std::string_view each) { return path.starts_with(each); };
  return path.ends_with(".py") && !path.starts_with('<') && !path.contains("/torch/") && std::ranges::none_of(kTorchs, begins) &&
         std::ranges::none_of(kPythons, begins) &&
         std::ranges::none_of(kInstalled, [&](std::string_view each) { return path.contains(each); });
}

std::string spelled(std::string_view path, std::uint32_t line, std::string_view function) {
  return std::string(path).append(":").append(std::to_string(std::uint64_t{line} + 1)).append(" ").append(function);
}

}  // namespace hotlens::trace
