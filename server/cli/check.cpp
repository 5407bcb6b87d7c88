// What an editor would show for these files: the same snapshot and the same features as the language server.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/common/format.h"
#include "annotator/common/harmless.h"
#include "annotator/guess/match/guess_lines.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/place_name.h"
#include "annotator/profile/profile.h"
#include "annotator/ranks/read.h"
#include "annotator/source/notebook/notebook.h"
#include "server/cli/verbs.h"
#include "server/features/features.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"
#include "server/runs/discovery.h"
#include "server/runs/packages.h"

namespace hotlens::cli {
namespace {

using nlohmann::json;
using source::Role;

struct Shown {
  features::FileView view;
  std::string written;                // its lines as the file has them
  std::vector<std::uint32_t> starts;  // of a notebook's cells
};

Result<Shown> open_view(const std::filesystem::path& file, const std::shared_ptr<const profile::Profile>& profile) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return std::unexpected(Error{ErrorCode::not_found, file.string() + " is not a file; name a Python source file.", file.string()});
  }
  Result<source::Script> script = source::read_source(file, kMostSource);
  if (!script) return std::unexpected(script.error());
  const source::Tree tree = source::Tree::parse(std::move(script->text));
  return Shown{features::view(file, tree, features::bind(profile, file, &tree), profile), std::move(script->written),
               std::move(script->starts)};
}

std::vector<std::filesystem::path> absolute(std::vector<std::filesystem::path> files) {
  std::error_code ignored;
  for (std::filesystem::path& file : files) file = std::filesystem::absolute(file, ignored).lexically_normal();
  return files;
}

// Where the source of a bare trace may lie: around the files asked about, then in the Python environment.
std::vector<std::filesystem::path> source_roots(const CheckOptions& options) {
  std::vector<std::filesystem::path> roots;
  const auto add = [&](const std::vector<std::filesystem::path>& folders) {
    for (const std::filesystem::path& folder : folders) {
      if (std::ranges::find(roots, folder) == roots.end()) roots.push_back(folder);
    }
  };
  for (const std::filesystem::path& file : absolute(options.files)) add(runs::import_folders(file));
  if (const auto python = runs::find_python(options.python, std::filesystem::current_path(), runs::process_environment())) {
    add(runs::package_folders(python->path));
  }
  return roots;
}

// How the place of a fact is known.
std::string_view how(const features::FileView& view, const features::Meaning& meaning) {
  if (!view.profile->guessed) return "recorded";
  const bool by_name = std::ranges::any_of(meaning.modules, [&](profile::ModuleId id) { return view.profile->at(id).by_name; });
  return by_name ? "guess" : "static";
}

json anchors_json(const features::FileView& view) {
  json anchors = json::array();
  if (!view.facts) return anchors;
  const std::vector<bool> confirmed = view.facts->anchors.confirm(view.placements);
  for (std::size_t fact = 0; fact < view.placements.size(); ++fact) {
    const Role role = view.facts->anchors.facts()[fact].role;
    if (role == Role::line || role == Role::statement) continue;
    const auto& placement = view.placements[fact];
    json modules = json::array();
    for (profile::ModuleId id : view.facts->meanings[fact].modules) modules.push_back(view.profile->at(id).path);
    anchors.push_back({{"line", placement.range.begin.line},
                       {"character", placement.range.begin.column},
                       {"end_line", placement.range.end.line},
                       {"end_character", placement.range.end.column},
                       {"role", source::name(role)},
                       {"modules", std::move(modules)},
                       {"state", source::name(placement.state)},
                       {"confirmed", static_cast<bool>(confirmed[fact])},
                       {"how", how(view, view.facts->meanings[fact])}});
  }
  return anchors;
}

json file_json(const features::FileView& view, const features::Options& options) {
  json file{{"path", view.path.string()}, {"encoding", "utf-8"},     {"anchors", anchors_json(view)}, {"hints", json::array()},
            {"hovers", json::array()},    {"lenses", json::array()}, {"actions", json::array()},      {"diagnostics", json::array()}};
  for (const features::Hint& hint : features::inlay_hints(view, {}, options)) {
    file["hints"].push_back({{"line", hint.at.line}, {"character", hint.at.column}, {"label", hint.label}, {"tooltip", hint.tooltip}});
    if (const auto hover = features::hover(view, {hint.at.line, 0}, options)) {
      file["hovers"].push_back({{"line", hover->range.begin.line},
                                {"character", hover->range.begin.column},
                                {"end_line", hover->range.end.line},
                                {"end_character", hover->range.end.column},
                                {"markdown", hover->contents}});
    }
  }
  const auto lenses = features::code_lenses(view, options);
  for (const features::Lens& lens : lenses) {
    file["lenses"].push_back({{"line", lens.line}, {"title", lens.title}, {"command", lens.command}});
  }
  for (const features::Action& action : features::code_actions(view, {}, options)) {
    file["actions"].push_back({{"line", lenses.empty() ? 0 : lenses.front().line}, {"title", action.title}, {"kind", action.kind}});
  }
  return file;
}

// Of a notebook each row says in which cell it is, and its lines count there.
json by_cell(json file, const std::vector<std::uint32_t>& starts) {
  if (starts.empty()) return file;
  for (json& rows : file) {
    if (!rows.is_array()) continue;
    for (json& row : rows) {
      const auto at = profile::cell_line(starts, std::max(row["line"].get<std::uint32_t>(), starts.front()));
      const std::uint32_t before = row["line"].get<std::uint32_t>() - std::min(row["line"].get<std::uint32_t>(), at->line);
      if (row.contains("end_line")) row["end_line"] = row["end_line"].get<std::uint32_t>() - before;
      row["cell"] = at->cell;
      row["line"] = at->line;
    }
  }
  return file;
}

// The file as the editor shows it: each line, its hint dimmed to the right in one column where the line is short enough.
void print_file(const Shown& shown, const features::Options& options, bool colour) {
  const features::FileView& view = shown.view;
  constexpr std::size_t kHintColumn = 84;
  std::map<std::uint32_t, std::string> hints;
  for (const features::Hint& hint : features::inlay_hints(view, {}, options)) hints[hint.at.line] = hint.label;
  std::map<std::uint32_t, std::string> lenses;
  for (const features::Lens& lens : features::code_lenses(view, options)) {
    std::string& row = lenses[lens.line];
    row += (row.empty() ? "" : " | ") + lens.title;
  }

  std::cout << bold(harmless(view.path.string()), colour) << '\n';
  std::string_view text = shown.written;
  std::size_t cell = 0;
  for (std::uint32_t number = 0; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (; cell < shown.starts.size() && shown.starts[cell] == number; ++cell)
      std::cout << bold(fmt::format("cell {}", cell + 1), colour) << '\n';
    if (!shown.starts.empty() && cell == 0) continue;  // a notebook's first line is ours
    if (lenses.contains(number)) std::cout << "      " << dim(lenses[number], colour) << '\n';
    const std::string count = std::to_string(number + 1 - (cell == 0 ? 0 : shown.starts[cell - 1]));
    std::cout << dim(std::string(5 - std::min<std::size_t>(count.size(), 5), ' ') + count + " ", colour) << line;
    if (hints.contains(number)) {
      const std::size_t used = format::width(line);
      std::cout << std::string(used + 2 < kHintColumn ? kHintColumn - used : 2, ' ') << dim(hints[number], colour);
    }
    std::cout << '\n';
  }
}

}  // namespace

int check(const CheckOptions& options) {
  const auto found = ranks::sources(std::vector{options.profile}, std::filesystem::current_path());
  if (!found) return fail(found.error());
  const auto shown_rank = ranks::one_of(*found, options.rank);
  if (!shown_rank) return fail(shown_rank.error());
  const auto loaded = profile::load(shown_rank->path, std::nullopt, shown_rank->rank);
  if (!loaded) return fail(loaded.error());
  const std::shared_ptr<const profile::Profile> profile = guess::guess_lines(*loaded, source_roots(options), absolute(options.files));

  for (const Issue& issue : profile->warnings) {
    if (issue.code == profile::kNoFrames) std::cerr << "hotlens: " << issue.message << '\n';
  }
  const bool as_json = options.format == OutputFormat::json;
  const features::Options shown{.images = false, .tooltips = as_json};
  json out{{"schema", "hotlens.check/1"}, {"profile", profile->id}, {"files", json::array()}};
  for (const std::filesystem::path& file : options.files) {
    const auto opened = open_view(file, profile);
    if (!opened) return fail(opened.error());
    if (as_json) {
      out["files"].push_back(by_cell(file_json(opened->view, shown), opened->starts));
    } else {
      print_file(*opened, shown, use_colour(STDOUT_FILENO));
      if (!opened->view.facts)
        std::cerr << "hotlens: profile " << profile->id << " says nothing about " << harmless(file.string()) << ".\n";
    }
  }
  if (as_json) std::cout << out.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  return kDone;
}

}  // namespace hotlens::cli
