#include "annotator/profile/bundle/moved_files.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>

#include "annotator/common/file.h"

namespace hotlens::profile {
namespace fs = std::filesystem;
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> lines;
  for (const auto part : text | std::views::split('\n')) {
    const std::string_view line(part.begin(), part.end());
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin != std::string_view::npos) lines.push_back(line.substr(begin, line.find_last_not_of(kBlank) - begin + 1));
  }
  return lines;
}

// Share of the executed lines, blank ones apart, that stand in the text of now.
double kept_share(std::string_view executed, std::string_view now) {
  const std::vector<std::string_view> before = lines_of(executed), after = lines_of(now);
  const std::set<std::string_view> standing(after.begin(), after.end());
  const auto kept = std::ranges::count_if(before, [&](std::string_view line) { return standing.contains(line); });
  return before.empty() ? 0 : static_cast<double>(kept) / static_cast<double>(before.size());
}

// How well the file that lies there now fits, from 0 to 1.
double fit(const fs::path& workspace, const fs::path& here, const SourceFile& file, std::string_view executed) {
  std::error_code error;
  if (!fs::is_regular_file(here, error)) return 0;
  if (!file.cells.empty()) return is_inside(here, workspace) ? 1 : 0;  // a notebook's text is not the script that its cells make
  const Result<std::string> now = read_file_inside(workspace, here, kMostSource);
  return !now ? 0 : *now == executed ? 1 : kept_share(executed, *now);
}

// The one of the same place that fits best, the nearest to `cwd` among equals.
std::optional<fs::path> place_of(const fs::path& workspace, const fs::path& cwd, const SourceFile& file, const fs::path& bundle) {
  constexpr double kSame = 1, kLeast = 0.5;
  const Result<std::string> executed = file.copy.empty() ? std::string() : read_file_inside(bundle, file.copy, kMostSource);
  if (!executed || executed->empty()) return std::nullopt;
  std::optional<fs::path> best;
  double best_fit = kLeast;
  for (fs::path base = cwd; base.has_relative_path() && best_fit < kSame; base = base.parent_path()) {
    const fs::path below = file.path.lexically_normal().lexically_relative(base);
    if (below.empty() || *below.begin() == "..") continue;
    const double found = fit(workspace, workspace / below, file, *executed);
    if (found < best_fit || (best && found <= best_fit)) continue;
    best_fit = found;
    best = workspace / below;
  }
  return best;
}

}  // namespace

fs::path workspace_of(const fs::path& bundle) {
  std::error_code error;
  const fs::path store = fs::absolute(bundle, error).lexically_normal().parent_path();
  const bool kept = store.filename() == "profiles" && store.parent_path().filename() == ".hotlens";
  return kept ? store.parent_path().parent_path() : fs::path();
}

void name_as_they_lie(const fs::path& bundle, const fs::path& cwd, std::vector<SourceFile>& files) {
  std::error_code error;
  const fs::path workspace = workspace_of(bundle);
  if (workspace.empty() || !cwd.is_absolute() || fs::equivalent(workspace, cwd, error)) return;
  std::map<fs::path, std::optional<fs::path>> known;  // a hostile bundle names one file often
  for (SourceFile& file : files) {
    if (!file.workspace || !file.path.is_absolute() || is_inside(file.path, workspace)) continue;
    const auto [entry, fresh] = known.try_emplace(file.path);
    if (fresh) entry->second = place_of(workspace, cwd.lexically_normal(), file, bundle);
    if (entry->second) file.path = *entry->second;
  }
}

}  // namespace hotlens::profile
