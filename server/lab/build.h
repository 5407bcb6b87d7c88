// Where hotlens-lab is: compiled once for each torch, with the headers that lie in it, and kept in the user's cache folder.
//
// The main program must not need torch, and no C++ program that was built elsewhere fits every torch; so the sources are installed beside
// the program and compiled at first use, which takes about half a minute. Nothing is asked of the user's Python: all is told from the disk.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "server/runs/discovery.h"

namespace hotlens::lab {

struct Torch {
  std::filesystem::path folder;  // of the package
  std::string version;
};

// The torch of a Python. The error names the folders that were searched.
Result<Torch> find_torch(const std::filesystem::path& python);

// The folder with the worker's sources and the headers that they need, beside the program as the recorder is.
Result<std::filesystem::path> find_sources(const std::filesystem::path& program);

// Where the worker for this torch and these sources is or will be.
Result<std::filesystem::path> cached_worker(const Torch& torch, const std::filesystem::path& sources, const runs::Environment& environment);

// The compiler's command; argv[0] is the user's CXX, c++, g++ or clang++. The error says what is missing and how to get it.
Result<std::vector<std::string>> compile_command(const Torch& torch, const std::filesystem::path& sources,
                                                 const std::filesystem::path& output, const runs::Environment& environment);

// The worker, compiled now where it is not there yet; `say` gets one line for people before that.
Result<std::filesystem::path> worker_for(const std::filesystem::path& python, const std::function<void(const std::string&)>& say);

// Whether worker_for() has it without compiling.
bool is_built(const std::filesystem::path& python);

// What worker_for() would use, as a line for people; the error is why it would fail. Builds nothing.
Result<std::string> look_for_worker(const std::filesystem::path& python);

}  // namespace hotlens::lab
