#include "server/features/lines/file_facts.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "annotator/profile/loop.h"

namespace hotlens::features {
namespace {

using profile::FileId;
using profile::ModuleId;
using profile::Profile;
using profile::Site;
using source::Role;

source::Fact fact_at(Role role, const Site& site) {
  const bool known = site.column && site.end_column;
  return {.role = role,
          .range = {{site.line, site.column.value_or(0)}, {site.end_line, site.end_column.value_or(0)}},
          .has_columns = known,
          .function = site.function};
}

// Modules that share a site share one fact, so a line made by many instances is one anchor.
class SiteTable {
 public:
  void add(Role role, const Site& site, ModuleId module) {
    const Key key{role, site.line, site.column.value_or(0), site.end_line, site.end_column.value_or(0), site.function};
    auto [known, inserted] = rows_.try_emplace(key, out_.facts.size());
    if (inserted) {
      out_.facts.push_back(fact_at(role, site));
      out_.meanings.emplace_back();
    }
    out_.meanings[known->second].modules.push_back(module);
  }
  void add(source::Fact fact, Meaning meaning) {
    out_.facts.push_back(std::move(fact));
    out_.meanings.push_back(std::move(meaning));
  }
  Collected take() {
    for (std::uint32_t key = 0; key < out_.facts.size(); ++key) out_.facts[key].key = key;
    return std::move(out_);
  }

 private:
  using Key = std::tuple<Role, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::string_view>;  // a view of the profile's

  std::map<Key, std::size_t> rows_;
  Collected out_;
};

// A comprehension or lambda on a line has a row of its own; what it ran is in the row of the line around it already.
bool is_inside(const std::string& inner, const std::string& outer) {
  if (outer == "<module>") return inner != outer && inner.starts_with('<');
  return inner.starts_with(outer + ".<locals>.");
}

// Rows of Profile::lines that stand for a whole line of `file`.
std::vector<std::uint32_t> outer_lines(const Profile& profile, FileId file) {
  std::multimap<std::uint32_t, std::uint32_t> by_line;
  for (std::uint32_t i = 0; i < profile.lines.size(); ++i) {
    if (profile.lines[i].file == file) by_line.emplace(profile.lines[i].line, i);
  }
  std::vector<std::uint32_t> rows;
  for (const auto& [line, row] : by_line) {
    const auto [first, last] = by_line.equal_range(line);
    const bool inner = std::any_of(
        first, last, [&](const auto& other) { return is_inside(profile.lines[row].function, profile.lines[other.second].function); });
    if (!inner) rows.push_back(row);
  }
  return rows;
}

std::vector<std::uint32_t> call_places(const Profile& profile) {
  std::vector<std::uint32_t> places(profile.modules.size(), 0);
  for (const profile::CallSite& call : profile.call_sites) {
    for (ModuleId id : call.modules) ++places.at(id.index);
  }
  return places;
}

std::vector<std::uint32_t> definitions(const Profile& profile, const Collected& collected) {
  std::vector<std::uint32_t> facts(profile.modules.size(), kNoFact);
  for (std::uint32_t fact = 0; fact < collected.facts.size(); ++fact) {
    if (collected.facts[fact].role != Role::definition) continue;
    for (ModuleId id : collected.meanings[fact].modules) facts.at(id.index) = fact;
  }
  return facts;
}

// Those that have a time worth a word.
void add_statements(const profile::Loop& loop, FileId file, SiteTable& table) {
  constexpr Ns kShort = std::chrono::milliseconds(1);
  for (std::uint32_t row = 0; row < loop.statements.size(); ++row) {
    const profile::LoopStatement& statement = loop.statements[row];
    if (statement.site.file != file || (statement.total <= Ns{} && statement.startup < kShort)) continue;
    table.add(fact_at(Role::statement, statement.site), {.row = row});
  }
}

}  // namespace

Collected collect(const Profile& profile, FileId file) {
  SiteTable table;
  for (std::uint32_t i = 0; i < profile.modules.size(); ++i) {
    const profile::Module& module = profile.modules[i];
    const ModuleId id{i};
    if (module.attached && module.attached->file == file) table.add(Role::definition, *module.attached, id);
    if (module.constructed && module.constructed->file == file) table.add(Role::constructor, *module.constructed, id);
    if (module.class_site && module.class_site->file == file) table.add(Role::class_line, *module.class_site, id);
  }
  for (std::uint32_t i = 0; i < profile.call_sites.size(); ++i) {
    const profile::CallSite& call = profile.call_sites[i];
    if (call.site.file == file) table.add(fact_at(Role::call, call.site), {.modules = call.modules, .calls = call.calls, .row = i});
  }
  for (std::uint32_t i = 0; i < profile.stage_sites.size(); ++i) {
    const profile::StageSite& stage = profile.stage_sites[i];
    if (stage.site.file == file) table.add(fact_at(Role::stage, stage.site), {.row = i});
  }
  for (std::uint32_t row : outer_lines(profile, file)) {
    const profile::Line& line = profile.lines[row];
    const Site site{.file = file, .line = line.line, .end_line = line.line, .function = line.function};
    table.add(fact_at(Role::line, site), {.calls = line.calls, .row = row});
  }
  if (profile.loop) add_statements(*profile.loop, file, table);
  return table.take();
}

FileId find_file(const Profile& profile, const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path wanted = std::filesystem::weakly_canonical(path, ignored);
  for (std::uint32_t i = 0; i < profile.files.size(); ++i) {
    const std::filesystem::path& known = profile.files[i].path;
    if (known == path || known == wanted || std::filesystem::weakly_canonical(known, ignored) == wanted) return {i};
  }
  return {};
}

std::shared_ptr<FileFacts> facts_of(std::shared_ptr<const Profile> profile, FileId file, const source::Tree& executed,
                                    Collected collected) {
  source::Anchors anchors = source::Anchors::bind(executed, collected.facts);
  std::vector<std::uint32_t> places = call_places(*profile);
  std::vector<std::uint32_t> defined = definitions(*profile, collected);
  return std::make_shared<FileFacts>(FileFacts{.profile = std::move(profile),
                                               .file = file,
                                               .anchors = std::move(anchors),
                                               .meanings = std::move(collected.meanings),
                                               .call_places = std::move(places),
                                               .definitions = std::move(defined)});
}

std::optional<std::uint32_t> line_now(const FileView& view, std::uint32_t executed) {
  if (!view.facts) return executed;
  bool known = false;
  for (const source::Anchors::Placement& placement : view.placements) {
    if (view.facts->anchors.facts()[placement.fact].range.begin.line != executed) continue;
    if (placement.state != source::State::orphan) return placement.range.begin.line;
    known = true;
  }
  return known ? std::nullopt : std::optional(executed);
}

}  // namespace hotlens::features
