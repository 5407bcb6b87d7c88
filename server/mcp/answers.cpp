#include "server/mcp/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "annotator/common/file.h"
#include "annotator/common/format.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/place_name.h"
#include "annotator/report/diff.h"
#include "annotator/report/text.h"
#include "annotator/source/notebook/notebook.h"
#include "protocol/reader.h"
#include "server/features/features.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"
#include "server/features/words/step_words.h"
#include "server/runs/words.h"
#include "server/session/lines/hot_search.h"

namespace hotlens::mcp {
namespace {

namespace fs = std::filesystem;
using profile::Profile;
using protocol::Reader;

// What an agent reads at once; a table of more rows is asked for by `limit`.
constexpr std::int64_t kUsualModules = 15, kUsualLines = 20, kUsualHints = 60, kUsualChanges = 15, kMostRows = 200;
constexpr std::size_t kMostResources = 50, kMostWarnings = 5;
constexpr std::size_t kMostResourceBytes = std::size_t{24} << 10;
constexpr std::size_t kHottest = 5;
constexpr std::string_view kScheme = "hotlens://profile/";

std::int64_t limit(const Reader& reader, std::int64_t usual) {
  const auto given = reader.maybe("limit");
  return given ? std::clamp<std::int64_t>(given->integer(), 1, kMostRows) : usual;
}

std::string text(const Reader& reader, const char* key, const std::string& otherwise) {
  const auto given = reader.maybe(key);
  return given ? given->string() : otherwise;
}

// No agent needs more digits, and each is a token.
double rounded(double part) {
  return std::round(part * 1e4) / 1e4;
}

double share(Ns part, Ns whole) {
  return whole > Ns{} ? rounded(static_cast<double>(part.count()) / static_cast<double>(whole.count())) : 0.0;
}

void put_place(Json& to, const Folder& folder, const Profile& profile, const std::optional<profile::Site>& site) {
  if (!site || site->file.index >= profile.files.size()) return;
  to["file"] = folder.spelled(profile.files[site->file.index].path);
  to["line"] = site->line + 1;
}

Json verdict_json(const Profile& profile) {
  Json evidence = Json::array();
  for (const auto& each : profile.verdict.evidence) {
    evidence.push_back({{"what", each.what}, {"ns", each.time.count()}});
    if (!each.where.empty()) evidence.back()["where"] = each.where;
  }
  return {{"kind", profile.verdict.kind}, {"evidence", std::move(evidence)}};
}

// Which profile, how long its step takes and what limits it.
Json head(const Profile& profile) {
  Json head{{"profile", profile.id},
            {"source", profile.source},
            {"summary", features::describe_step(profile)},
            {"step_ns", step_time(mean_update(profile)).count()},
            {"profiled_step_ns", profile.step_wall().count()},
            {"verdict", verdict_json(profile)}};
  if (!profile.created.empty()) head["created"] = profile.created;
  return head;
}

Json stages_json(const Profile& profile) {
  Json stages = Json::array();
  for (const profile::StageTimes& stage : profile.stages) {
    const Ns wall = profile.shown(stage.wall);
    if (wall > Ns{}) stages.push_back({{"name", name(stage.stage)}, {"ns", wall.count()}, {"share", share(wall, profile.step_wall())}});
  }
  return stages;
}

Ns time_of(const Profile& profile, const profile::Module& module) {
  const bool device = profile.has_device();
  return headline(profile.shown(module.forward), device) + headline(profile.shown(module.backward), device);
}

Json module_json(const Folder& folder, const Profile& profile, const profile::Module& module, Ns self) {
  const Ns time = time_of(profile, module);
  Json row{{"path", module.path}, {"class", module.class_name}, {"calls", module.calls},
           {"ns", time.count()},  {"self_ns", self.count()},    {"share", share(time, headline_whole(profile))}};
  put_place(row, folder, profile, module.attached);
  return row;
}

// Those that spend most themselves: parents would only repeat what their children take.
Json modules_json(const Folder& folder, const Profile& profile, std::int64_t most) {
  std::vector<std::pair<Ns, const profile::Module*>> by_self;
  for (const profile::Module& module : profile.modules) {
    Ns self = time_of(profile, module);
    for (const profile::ModuleId child : module.children) self -= time_of(profile, profile.at(child));
    if (self > Ns{}) by_self.emplace_back(self, &module);
  }
  std::ranges::stable_sort(by_self, std::ranges::greater{}, [](const auto& each) { return each.first; });
  Json rows = Json::array();
  for (const auto& [self, module] : by_self) {
    if (std::ssize(rows) < most) rows.push_back(module_json(folder, profile, *module, self));
  }
  return rows;
}

Json memory_json(const Profile& profile) {
  Json memory = Json::object();
  if (profile.memory_peak) memory["peak_bytes"] = count(*profile.memory_peak);
  if (!profile.at_peak.moment) return memory;
  memory["at_peak_bytes"] = count(profile.at_peak.total);
  const profile::Holdings held = held_at_peak(profile);
  for (std::size_t what = 0; what < profile::kHoldings; ++what) {
    memory[std::string(name(static_cast<profile::Holding>(what))) + "_bytes"] = count(held[what]);
  }
  return memory;
}

Json warnings_json(const Profile& profile) {
  Json warnings = Json::array();
  for (const Issue& issue : profile.warnings) {
    if (warnings.size() < kMostWarnings) warnings.push_back(issue.message);
  }
  return warnings;
}

std::vector<session::HotPlace> hottest(const Folder& folder, const Shared& profile) {
  session::HotSearch search{.profile = profile, .open = {}, .readable = {{folder.root}}, .options = {.tooltips = false}};
  return search.lines();
}

Json line_json(const Folder& folder, const session::HotPlace& place) {
  return {{"file", folder.spelled(place.file)}, {"line", place.line.line + 1},    {"text", place.line.text},
          {"hint", place.line.label},           {"ns", place.line.value.count()}, {"share", rounded(place.line.share)}};
}

Json lines_json(const Folder& folder, const std::vector<session::HotPlace>& places, std::size_t most) {
  Json lines = Json::array();
  for (const session::HotPlace& place : places) {
    if (lines.size() < most) lines.push_back(line_json(folder, place));
  }
  return lines;
}

Result<Json> check_file(const Folder& folder, const Shared& profile, const std::string& name, std::int64_t most) {
  const auto file = folder.find_file(name);
  if (!file) return std::unexpected(file.error());
  Result<source::Script> script = source::read_source(*file, kMostSource);
  if (!script) return std::unexpected(script.error());
  const source::Tree tree = source::Tree::parse(std::move(script->text));
  const features::Folders readable{{folder.root}};
  const auto view = features::view(*file, tree, features::bind(profile, *file, &tree, readable), profile);
  const auto hints = features::inlay_hints(view, {}, {.images = false, .tooltips = false});
  Json lines = Json::array();
  for (const features::Hint& hint : hints) {
    if (std::ssize(lines) == most) break;
    lines.push_back({{"line", hint.at.line + 1}, {"hint", hint.label}, {"text", features::trimmed_line(view.tree.text(), hint.at.line)}});
    if (const auto at = profile::cell_line(script->starts, hint.at.line)) lines.back().update({{"cell", at->cell}, {"line", at->line + 1}});
  }
  return Json{{"file", folder.spelled(*file)}, {"known", view.facts != nullptr}, {"total", hints.size()}, {"lines", std::move(lines)}};
}

Json change_json(const report::Change& change) {
  Json json{{"outcome", name(change.outcome)}};
  if (change.before) json["old_ns"] = change.before->count();
  if (change.after) json["new_ns"] = change.after->count();
  if (change.before && change.after) json["change_ns"] = change.difference().count();
  if (change.noise) json["noise_ns"] = change.noise->count();
  return json;
}

bool tells(const report::Row& row) {
  return row.time.outcome != report::Outcome::same;
}

bool tells(const report::ModuleRow& row) {
  return row.explains;
}

// The biggest changes that tell something first.
template <class T, class Name>
Json changes_json(const std::vector<T>& rows, std::int64_t most, Name name_it) {
  std::vector<const T*> changed;
  for (const T& row : rows) {
    if (tells(row)) changed.push_back(&row);
  }
  std::ranges::stable_sort(changed, std::ranges::greater{}, [](const T* row) { return std::abs(row->time.difference().count()); });
  Json json = Json::array();
  for (const T* row : changed) {
    if (std::ssize(json) == most) break;
    json.push_back(change_json(row->time));
    name_it(json.back(), *row);
  }
  return json;
}

Json changed_modules(const Folder& folder, const report::Diff& found, const report::Side& after, std::int64_t most) {
  return changes_json(found.modules, most, [&](Json& json, const report::ModuleRow& row) {
    json["path"] = row.path;
    if (!row.made.empty()) json["made"] = row.made;
    if (row.after.valid()) put_place(json, folder, *after.profile, after.profile->at(row.after).attached);
  });
}

Json side_json(const Profile& profile) {
  return {{"profile", profile.id}, {"source", profile.source}, {"summary", features::describe_step(profile)}};
}

Result<Json> printed_json(const std::string& printed) {
  auto read = protocol::parse_json(printed);
  if (!read || !read->is_object()) return std::unexpected(Error{ErrorCode::failed, "The answer of the program is no JSON.", {}});
  return *std::move(read);
}

}  // namespace

Error wrong(const protocol::RpcError& error) {
  return {ErrorCode::usage, error.message, {}};
}

Result<Json> report(const Folder& folder, const Json& arguments) {
  const Reader reader(arguments);
  const std::string reference = text(reader, "profile", "latest");
  const std::int64_t most = limit(reader, kUsualModules);
  if (const auto error = reader.error()) return std::unexpected(wrong(*error));
  const auto loaded = folder.load(reference);
  if (!loaded) return std::unexpected(loaded.error());
  const Profile& profile = **loaded;
  Json answer = head(profile);
  answer["stages"] = stages_json(profile);
  answer["modules"] = modules_json(folder, profile, most);
  answer["modules_total"] = profile.modules.size();
  answer["memory"] = memory_json(profile);
  answer["warnings"] = warnings_json(profile);
  if (!profile.torch.empty()) answer["torch"] = profile.torch;
  if (profile.samples_per_step) answer["samples_per_step"] = *profile.samples_per_step;
  return answer;
}

Result<Json> hot_lines(const Folder& folder, const Json& arguments) {
  const Reader reader(arguments);
  const std::string reference = text(reader, "profile", "latest");
  const std::int64_t most = limit(reader, kUsualLines);
  if (const auto error = reader.error()) return std::unexpected(wrong(*error));
  const auto loaded = folder.load(reference);
  if (!loaded) return std::unexpected(loaded.error());
  const auto places = hottest(folder, *loaded);
  return Json{{"profile", (*loaded)->id},
              {"summary", features::describe_step(**loaded)},
              {"total", places.size()},
              {"lines", lines_json(folder, places, static_cast<std::size_t>(most))}};
}

Result<Json> check(const Folder& folder, const Json& arguments) {
  const Reader reader(arguments);
  const std::string reference = text(reader, "profile", "latest");
  const std::int64_t most = limit(reader, kUsualHints);
  std::vector<std::string> names;
  for (const Reader& each : reader["files"].items()) names.push_back(each.string());
  if (const auto error = reader.error()) return std::unexpected(wrong(*error));
  const auto loaded = folder.load(reference);
  if (!loaded) return std::unexpected(loaded.error());
  Json answer{{"profile", (*loaded)->id}, {"files", Json::array()}};
  for (const std::string& name : names) {
    auto file = check_file(folder, *loaded, name, most);
    if (!file) return std::unexpected(file.error());
    answer["files"].push_back(std::move(*file));
  }
  return answer;
}

Result<Json> diff(const Folder& folder, const Json& arguments) {
  const Reader reader(arguments);
  const std::string old_reference = text(reader, "old", "previous"), new_reference = text(reader, "new", "latest");
  const std::int64_t most = limit(reader, kUsualChanges);
  if (const auto error = reader.error()) return std::unexpected(wrong(*error));
  const auto read = [&](const std::string& reference) -> Result<report::Side> {
    const auto path = folder.find_profile(reference);
    return path ? report::read_side(*path) : std::unexpected(path.error());
  };
  const auto before = read(old_reference), after = read(new_reference);
  if (!before) return std::unexpected(before.error());
  if (!after) return std::unexpected(after.error());
  const report::Diff found = report::diff(*before, *after);
  const std::string words = report::diff_text(found, *before, *after, false);
  const auto by_name = [](Json& json, const report::Row& row) { json["name"] = row.name; };
  Json step = change_json(found.step);
  step["steps"] = found.step_plain ? "plain" : "profiled";
  return Json{{"old", side_json(*before->profile)},
              {"new", side_json(*after->profile)},
              {"summary", words.substr(0, words.find('\n'))},
              {"step", std::move(step)},
              {"stages", changes_json(found.stages, most, by_name)},
              {"modules", changed_modules(folder, found, *after, most)},
              {"operators", changes_json(found.operators, most, by_name)}};
}

Result<Json> profiled(const Folder& folder, const fs::path& bundle) {
  const auto loaded = profile::load(bundle);
  if (!loaded) return std::unexpected(loaded.error());
  Json answer = head(**loaded);
  answer["hot_lines"] = lines_json(folder, hottest(folder, *loaded), kHottest);
  answer["warnings"] = warnings_json(**loaded);
  return answer;
}

Result<Json> predicted(const std::string& printed) {
  auto answer = printed_json(printed);
  if (answer) answer->erase("schema");
  return answer;
}

Result<Json> what_if(const Folder& folder, const std::string& printed) {
  auto answer = printed_json(printed);
  if (!answer) return answer;
  answer->erase("schema");
  for (Json& item : (*answer)["items"]) {
    if (item.contains("file")) item["file"] = folder.spelled(item["file"].get<std::string>());
    if (item.contains("line")) item["line"] = item["line"].get<std::int64_t>() + 1;
  }
  return answer;
}

Result<Json> resources(const Folder& folder) {
  Json list = Json::array();
  for (const fs::path& bundle : profile::bundles(folder.root)) {
    if (list.size() == kMostResources) break;
    const auto manifest = profile::read_manifest(bundle);
    if (!manifest) continue;
    const auto step = profile::plain_step(*manifest, nullptr);
    const std::string words = features::plain(runs::quoted(manifest->argv)) + (step ? " · " + format::readable(*step) + "/step" : "");
    list.push_back({{"uri", std::string(kScheme) + bundle.filename().string()},
                    {"name", bundle.filename().string()},
                    {"title", words},
                    {"mimeType", "text/plain"}});
  }
  return Json{{"resources", std::move(list)}};
}

Result<std::string> resource_text(const Folder& folder, const std::string& uri) {
  const std::string id = uri.starts_with(kScheme) ? uri.substr(kScheme.size()) : "";
  if (id.empty() || id.contains('/')) return std::unexpected(Error{ErrorCode::not_found, "no such resource: " + uri, uri});
  const auto loaded = folder.load(id);
  if (!loaded) return std::unexpected(loaded.error());
  std::string words = report::report_text(**loaded);
  if (words.size() > kMostResourceBytes) {
    words.resize(words.rfind('\n', kMostResourceBytes) + 1);
    words += "(cut here; the tool `report` has the rest)\n";
  }
  return words;
}

}  // namespace hotlens::mcp
