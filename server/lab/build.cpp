#include "server/lab/build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "annotator/common/file.h"
#include "annotator/common/own_program.h"
#include "server/runs/packages.h"
#include "server/runs/run.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr const char* kWorkerSource = "annotator/lab/worker/worker.cpp";

// FNV-1a: names a file in a cache, no more.
std::uint64_t hashed(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325ULL) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return seed;
}

// What stands between quotes after `name =` in a Python file.
std::string assigned(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(" =")) continue;
    const std::size_t open = line.find_first_of("'\""), close = line.find_last_of("'\"");
    if (open < close) return std::string(line.substr(open + 1, close - open - 1));
  }
  return {};
}

std::vector<fs::path> source_files(const fs::path& sources) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const char* part : {"annotator/common/error.h", "annotator/lab/program", "annotator/lab/worker"}) {
    if (fs::is_regular_file(sources / part, error)) found.push_back(sources / part);
    for (const auto& entry : fs::directory_iterator(sources / part, error)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

Result<fs::path> find_compiler(const runs::Environment& environment) {
  if (const auto named = environment("CXX")) {
    if (const auto found = runs::on_path(*named, environment)) return *found;
    if (fs::path(*named).is_absolute() && ::access(named->c_str(), X_OK) == 0) return fs::path(*named);
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (const auto found = runs::on_path(name, environment)) return *found;
  }
  return std::unexpected(Error{ErrorCode::not_found,
                               "predictions need a C++ compiler, to build their worker for your torch once; install g++ 12 or clang 17, or "
                               "newer. Everything else works without",
                               {}});
}

// torch before 2.7 from PyPI has the older ABI of strings.
std::string abi_flag(const Torch& torch) {
  const auto config = read_file(torch.folder / "share/cmake/Torch/TorchConfig.cmake", kMostText);
  const bool old = config && config->contains("-D_GLIBCXX_USE_CXX11_ABI=0");
  return old ? "-D_GLIBCXX_USE_CXX11_ABI=0" : "-D_GLIBCXX_USE_CXX11_ABI=1";
}

Result<void> compile(const Torch& torch, const fs::path& sources, const fs::path& output) {
  const fs::path draft = output.parent_path() / fmt::format("{}.{}.partial", output.filename().string(), ::getpid());
  auto command = compile_command(torch, sources, draft, runs::process_environment());
  if (!command) return std::unexpected(command.error());
  const runs::RunEnd end = runs::run_blocking({.argv = *command}, {});
  std::error_code error;
  if (end.exit_code == 0) fs::rename(draft, output, error);
  if (end.exit_code == 0 && !error) return {};
  fs::remove(draft, error);
  if (end.error) return std::unexpected(*end.error);
  if (end.cancelled) return std::unexpected(Error{ErrorCode::cancelled, "building the worker was stopped", {}});
  const auto line = std::ranges::find_if(end.tail, [](const std::string& text) { return text.contains("error"); });
  const std::string why = line != end.tail.end() ? *line : end.tail.empty() ? "the compiler gave no reason" : end.tail.back();
  return std::unexpected(
      Error{ErrorCode::unsupported,
            fmt::format("the worker for torch {} could not be built with {}: {}. Predictions need g++ 12 or clang 17, or "
                        "newer; everything else works without",
                        torch.version, command->front(), why),
            {}});
}

struct Place {
  fs::path sources;
  Torch torch;
  fs::path worker;
};

Result<Place> find_place(const fs::path& python) {
  const auto program = own_program();
  if (!program) return std::unexpected(program.error());
  auto sources = find_sources(*program);
  if (!sources) return std::unexpected(sources.error());
  auto torch = find_torch(python);
  if (!torch) return std::unexpected(torch.error());
  auto worker = cached_worker(*torch, *sources, runs::process_environment());
  if (!worker) return std::unexpected(worker.error());
  return Place{std::move(*sources), std::move(*torch), std::move(*worker)};
}

}  // namespace

Result<Torch> find_torch(const fs::path& python) {
  std::string searched;
  for (const fs::path& folder : runs::package_folders(python)) {
    const auto version = read_file(folder / "torch/version.py", kMostText);
    if (version) return Torch{folder / "torch", assigned(*version, "__version__")};
    searched += (searched.empty() ? "" : ", ") + folder.string();
  }
  return std::unexpected(Error{ErrorCode::not_found,
                               fmt::format("{} has no torch (looked in {}); name the interpreter that has it with --python",
                                           python.string(), searched.empty() ? "no folder of packages" : searched),
                               {}});
}

Result<fs::path> find_sources(const fs::path& program) {
  fs::path sources = program.parent_path().parent_path() / "share/hotlens/lab";
  std::error_code error;
  if (fs::is_regular_file(sources / kWorkerSource, error)) return sources;
  return std::unexpected(
      Error{ErrorCode::not_found, "the worker's sources are missing beside this program; install Hotlens again", sources.string()});
}

Result<fs::path> cached_worker(const Torch& torch, const fs::path& sources, const runs::Environment& environment) {
  const auto cache = runs::cache_folder(environment);
  if (!cache) return std::unexpected(Error{ErrorCode::not_found, "there is no folder for the worker: set HOME or XDG_CACHE_HOME", {}});
  std::uint64_t hash = hashed(torch.folder.string());
  for (const fs::path& file : source_files(sources)) hash = hashed(read_file(file, kMostText).value_or(""), hash);
  hash = hashed(read_file(torch.folder / "version.py", kMostText).value_or(""), hash);
  return *cache / "hotlens" / "lab" / fmt::format("{}-{:016x}", torch.version, hash) / "hotlens-lab";
}

Result<std::vector<std::string>> compile_command(const Torch& torch, const fs::path& sources, const fs::path& output,
                                                 const runs::Environment& environment) {
  const auto compiler = find_compiler(environment);
  if (!compiler) return std::unexpected(compiler.error());
  const fs::path include = torch.folder / "include", libraries = torch.folder / "lib";
  std::error_code error;
  if (!fs::is_regular_file(include / "ATen/core/Tensor.h", error) || !fs::is_regular_file(libraries / "libtorch_cpu.so", error)) {
    return std::unexpected(
        Error{ErrorCode::not_found,
              fmt::format("torch {} has no C++ headers and libraries in its package, so nothing can be predicted with it; "
                          "install torch from PyPI. Everything else works without",
                          torch.version),
              torch.folder.string()});
  }
  std::vector<std::string> command{compiler->string(),
                                   "-std=c++2b",
                                   "-O2",
                                   "-DNDEBUG",
                                   abi_flag(torch),
                                   "-w",
                                   "-I" + sources.string(),
                                   "-isystem",
                                   include.string(),
                                   "-isystem",
                                   (include / "torch/csrc/api/include").string(),
                                   (sources / kWorkerSource).string(),
                                   "-o",
                                   output.string(),
                                   "-pthread",
                                   "-L" + libraries.string(),
                                   "-Wl,-rpath," + libraries.string(),
                                   "-Wl,--no-as-needed",
                                   "-Wl,--allow-shlib-undefined"};
  for (const char* library : {"torch", "torch_cpu", "torch_cuda", "c10", "c10_cuda"}) {
    if (fs::is_regular_file(libraries / fmt::format("lib{}.so", library), error)) command.push_back(fmt::format("-l{}", library));
  }
  return command;
}

Result<fs::path> worker_for(const fs::path& python, const std::function<void(const std::string&)>& say) {
  const auto place = find_place(python);
  if (!place) return std::unexpected(place.error());
  const auto& [sources, torch, worker] = *place;
  std::error_code error;
  if (fs::is_regular_file(worker, error)) return worker;
  fs::create_directories(worker.parent_path(), error);
  if (error)
    return std::unexpected(
        Error{ErrorCode::unreadable, "the cache folder cannot be written: " + error.message(), worker.parent_path().string()});
  say(fmt::format("building the worker for torch {}: once, about half a minute", torch.version));
  if (const auto built = compile(torch, sources, worker); !built) return std::unexpected(built.error());
  return worker;
}

bool is_built(const fs::path& python) {
  const auto place = find_place(python);
  std::error_code error;
  return place && fs::is_regular_file(place->worker, error);
}

Result<std::string> look_for_worker(const fs::path& python) {
  const auto place = find_place(python);
  if (!place) return std::unexpected(place.error());
  std::error_code error;
  if (fs::is_regular_file(place->worker, error)) return fmt::format("for torch {}, {}", place->torch.version, place->worker.string());
  const auto command = compile_command(place->torch, place->sources, place->worker, runs::process_environment());
  if (!command) return std::unexpected(command.error());
  return fmt::format("for torch {}, built at first use with {}", place->torch.version, command->front());
}

}  // namespace hotlens::lab
