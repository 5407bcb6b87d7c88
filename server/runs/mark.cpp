#include "server/runs/mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

// As the recorder reads `--out`: the folder that holds `.hotlens/profiles`, or one of these two.
fs::path profiles_folder(const fs::path& out) {
  const fs::path given = (out / "").lexically_normal().parent_path();  // without a slash at its end
  if (given.filename() == "profiles" && given.parent_path().filename() == ".hotlens") return given;
  return given.filename() == ".hotlens" ? given / "profiles" : given / ".hotlens" / "profiles";
}

// The word after `name` among the recorder's own, which end at `--`; empty where it has none.
std::string value_of(std::string_view name, const std::vector<std::string>& command) {
  const auto end = std::ranges::find(command, "--");
  const auto at = std::find(command.begin(), end, name);
  return at == end || std::next(at) == end ? std::string() : *std::next(at);
}

}  // namespace

std::string new_mark() {
  constexpr std::uint32_t kMarks = 1U << 24U;  // six digits
  return fmt::format("{:06x}", std::random_device{}() % kMarks);
}

std::optional<fs::path> bundle_left(const std::vector<std::string>& command) {
  const std::string out = value_of("--out", command), mark = value_of("--mark", command);
  if (out.empty() || mark.empty()) return std::nullopt;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(profiles_folder(out), ignored)) {
    const bool ours = entry.path().filename().native().ends_with("-" + mark);
    if (ours && fs::is_regular_file(entry.path() / "manifest.json", ignored)) return entry.path();
  }
  return std::nullopt;
}

}  // namespace hotlens::runs
