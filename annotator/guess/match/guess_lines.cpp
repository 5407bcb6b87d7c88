#include "annotator/guess/match/guess_lines.h"

#include <algorithm>
#include <unordered_map>

#include "annotator/guess/match/skeleton_match.h"
#include "annotator/profile/build/module_name.h"

namespace hotlens::guess {
namespace {

// Numbers the files in the order in which they are first named.
class Sites {
 public:
  explicit Sites(profile::Profile& profile) : profile_(profile) {}

  profile::Site of(const Node& node) {
    const auto [begin, end] = node.range();
    return {.file = file(*node.code),
            .line = begin.line,
            .end_line = end.line,
            .column = begin.column,
            .end_column = end.column,
            .function = qualified_name(node)};
  }
  // The header of a class, by its line.
  profile::Site of_class(const Node& type) {
    profile::Site site = of(type);
    site.end_line = site.line;
    site.column = site.end_column = std::nullopt;
    return site;
  }

 private:
  profile::FileId file(const Code& code) {
    const auto [known, fresh] = files_.try_emplace(&code, profile::FileId{static_cast<std::uint32_t>(profile_.files.size())});
    if (fresh) profile_.files.push_back({.path = code.path(), .text = std::make_shared<const std::string>(code.text())});
    return known->second;
  }

  profile::Profile& profile_;
  std::unordered_map<const Code*, profile::FileId> files_;
};

void count_unknown(profile::Profile& profile) {
  std::int64_t unknown = 0;
  for (const profile::Module& module : profile.modules) unknown += module.parent.valid() && !module.attached;
  if (unknown > 0) {
    profile.warnings.push_back({"module-without-line", "the source does not say which line made some of the trace's modules", unknown});
  }
}

}  // namespace

std::shared_ptr<const profile::Profile> guess_lines(std::shared_ptr<const profile::Profile> profile,
                                                    const std::vector<std::filesystem::path>& roots,
                                                    const std::vector<std::filesystem::path>& files) {
  if (!profile->module_calls || profile->module_calls->modules.empty()) return profile;
  Library library(roots);
  for (const std::filesystem::path& file : files) library.file(file);
  const Placement placement = match_skeleton(*profile->module_calls, library);
  auto guessed = std::make_shared<profile::Profile>(*profile);
  guessed->guessed = true;
  Sites sites(*guessed);
  std::unordered_map<std::string_view, std::vector<profile::ModuleId>> by_name;
  for (std::uint32_t module = 0; module < guessed->modules.size(); ++module) {
    by_name[profile::last_name(guessed->modules[module])].push_back(profile::ModuleId{module});
  }
  const auto rows_of = [&](std::uint32_t traced) { return by_name[profile->module_calls->modules[traced]]; };
  for (std::uint32_t traced = 0; traced < placement.modules.size(); ++traced) {
    const PlacedModule& placed = placement.modules[traced];
    for (const profile::ModuleId id : rows_of(traced)) {
      profile::Module& module = guessed->modules[id.index];
      if (placed.attached) module.attached = sites.of(placed.attached);
      if (placed.constructed) module.constructed = sites.of(placed.constructed);
      if (placed.type) module.class_site = sites.of_class(placed.type);
      module.by_name = !placed.by_line;
    }
  }
  for (const PlacedCall& call : placement.calls) {
    profile::CallSite site{.site = sites.of(call.site), .modules = {}, .calls = call.calls};
    for (const std::uint32_t traced : call.modules) {
      const std::vector<profile::ModuleId> rows = rows_of(traced);
      site.modules.insert(site.modules.end(), rows.begin(), rows.end());
    }
    guessed->call_sites.push_back(std::move(site));
  }
  count_unknown(*guessed);
  return guessed;
}

}  // namespace hotlens::guess
