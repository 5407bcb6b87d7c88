#include "server/session/lines/hot_search.h"

#include <algorithm>
#include <utility>

#include "annotator/common/file.h"
#include "annotator/source/notebook/notebook.h"
#include "server/features/lines/file_facts.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;

bool may_be_read(const fs::path& file, const features::Folders& readable) {
  return !readable || std::ranges::any_of(*readable, [&](const fs::path& folder) { return is_inside(file, folder); });
}

// Where nothing else is known they are all there is.
void leave_out_sums(std::vector<HotPlace>& lines) {
  const bool layers = std::ranges::any_of(lines, [](const HotPlace& each) { return each.line.of_module && !each.line.sums_up; });
  const auto sums_up = [&](const HotPlace& each) { return each.line.sums_up || (layers && each.line.of_stage); };
  if (!std::ranges::all_of(lines, sums_up)) std::erase_if(lines, sums_up);
}

}  // namespace

std::vector<HotPlace> HotSearch::lines() const {
  std::vector<HotPlace> all;
  for (std::uint32_t i = 0; i < profile->files.size(); ++i) {
    const profile::SourceFile& file = profile->files[i];
    if (!file.workspace || features::collect(*profile, {i}).facts.empty()) continue;
    const std::optional<features::FileView> view = view_of(file.path);
    if (!view) continue;
    for (features::HotLine& line : features::hot_lines(*view, options)) all.push_back({file.path, std::move(line)});
  }
  leave_out_sums(all);
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const HotPlace& each) { return each.line.share; });
  return all;
}

std::optional<features::FileView> HotSearch::view_of(const fs::path& file) const {
  if (const auto shown = open.find(file); shown != open.end()) return shown->second;
  return view_on_disk(profile, file, readable);
}

std::optional<features::FileView> view_on_disk(const ProfileStore::Shared& profile, const fs::path& file,
                                               const features::Folders& readable) {
  if (!may_be_read(file, readable)) return std::nullopt;
  Result<source::Script> script = source::read_source(file, kMostSource);
  if (!script) return std::nullopt;
  const source::Tree tree = source::Tree::parse(std::move(script->text));
  return features::view(file, tree, features::bind(profile, file, &tree, readable), profile);
}

}  // namespace hotlens::session
