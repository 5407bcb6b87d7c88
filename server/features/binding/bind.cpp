#include <algorithm>

#include "annotator/common/file.h"
#include "annotator/profile/source_text.h"
#include "annotator/source/moved_classes.h"
#include "annotator/source/notebook/notebook.h"
#include "server/features/binding/marks.h"
#include "server/features/features.h"
#include "server/features/lines/file_facts.h"

namespace hotlens::features {
namespace {

using profile::FileId;
using profile::Profile;

// Files of the project that had a class of one of these names when they were executed, each once.
std::vector<FileId> homes_of(const Profile& profile, const std::vector<std::string>& classes) {
  std::vector<FileId> homes;
  for (const profile::Module& module : profile.modules) {
    if (!module.class_site || !profile.files[module.class_site->file.index].workspace) continue;
    const FileId home = module.class_site->file;
    if (std::ranges::find(homes, home) != homes.end() || std::ranges::find(classes, module.class_name) == classes.end()) continue;
    homes.push_back(home);
  }
  return homes;
}

Collected within(const Collected& all, const std::vector<source::LineSpan>& spans) {
  Collected kept;
  for (std::size_t fact = 0; fact < all.facts.size(); ++fact) {
    const std::uint32_t line = all.facts[fact].range.begin.line;
    if (std::ranges::none_of(spans, [&](const source::LineSpan& span) { return span.first <= line && line <= span.last; })) continue;
    kept.facts.push_back(all.facts[fact]);
    kept.facts.back().key = static_cast<std::uint32_t>(kept.meanings.size());
    kept.meanings.push_back(all.meanings[fact]);
  }
  return kept;
}

// The file of the project as it is now; no value where it is gone, an error where it may not be read.
Result<std::optional<std::string>> text_now(const std::filesystem::path& path, const Folders& readable) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const bool allowed =
      !readable || std::ranges::any_of(*readable, [&](const std::filesystem::path& folder) { return hotlens::is_inside(path, folder); });
  if (!allowed) return std::unexpected(Error{ErrorCode::unreadable, "not in the workspace", path.string()});
  Result<source::Script> script = source::read_source(path, kMostSource);
  if (!script) return std::unexpected(script.error());
  return std::move(script->text);
}

// A file that did not run, but holds classes now that did, in another file of the project that has them no more.
std::shared_ptr<const FileFacts> bind_moved(std::shared_ptr<const Profile> profile, const source::Tree& opened, const Folders& readable) {
  for (const FileId home : homes_of(*profile, source::class_names(opened))) {
    std::optional<std::string> before = profile::executed_text(*profile, home);
    Result<std::optional<std::string>> after = text_now(profile->files[home.index].path, readable);
    if (!before || !after) continue;
    const source::Tree executed = source::Tree::parse(std::move(*before));
    const std::optional<source::Tree> left = *after ? std::optional(source::Tree::parse(std::move(**after))) : std::nullopt;
    Collected collected = within(collect(*profile, home), source::moved_classes(executed, left ? &*left : nullptr, opened));
    if (!collected.facts.empty()) return facts_of(std::move(profile), home, executed, std::move(collected));
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const FileFacts> bind(std::shared_ptr<const Profile> profile, const std::filesystem::path& path, const source::Tree* opened,
                                      const Folders& readable) {
  const FileId file = find_file(*profile, path);
  if (!file.valid()) return opened == nullptr ? nullptr : bind_moved(std::move(profile), *opened, readable);
  Collected collected = collect(*profile, file);
  if (collected.facts.empty()) return nullptr;
  std::optional<std::string> executed = profile::executed_text(*profile, file);
  if (!executed) return nullptr;
  const bool unchanged = opened != nullptr && opened->text() == *executed;
  const source::Tree tree = unchanged ? *opened : source::Tree::parse(std::move(*executed));
  const std::shared_ptr<FileFacts> facts = facts_of(std::move(profile), file, tree, std::move(collected));
  facts->marks = marks_of(view(path, tree, facts, facts->profile));
  return facts;
}

FileView view(std::filesystem::path path, source::Tree tree, std::shared_ptr<const FileFacts> facts,
              std::shared_ptr<const Profile> profile) {
  auto placements = facts ? facts->anchors.place(tree) : std::vector<source::Anchors::Placement>{};
  return {.path = std::move(path),
          .tree = std::move(tree),
          .facts = std::move(facts),
          .profile = std::move(profile),
          .placements = std::move(placements)};
}

}  // namespace hotlens::features
