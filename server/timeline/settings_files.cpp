#include "server/timeline/settings_files.h"

#include <algorithm>
#include <array>
#include <set>

#include "annotator/common/file.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/source_text.h"

namespace hotlens::timeline_requests {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20, kMostSources = 200;
constexpr std::array<std::string_view, 4> kEndings{".yaml", ".yml", ".json", ".toml"};

// The string literal on one line that ends at `quote`; empty where it begins nowhere.
std::string_view literal_before(std::string_view text, std::size_t quote) {
  const std::size_t line = text.rfind('\n', quote) + 1;  // npos + 1 is the text's begin
  const std::size_t begin = quote == 0 ? std::string_view::npos : text.rfind(text[quote], quote - 1);
  return begin == std::string_view::npos || begin < line ? std::string_view() : text.substr(begin + 1, quote - begin - 1);
}

// What the first `name="…"` is set to.
std::string_view set_to(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  const std::size_t quote = text.find_first_not_of(" =", at + name.size());
  if (quote == std::string_view::npos || (text[quote] != '"' && text[quote] != '\'')) return {};
  const std::size_t end = text.find(text[quote], quote + 1);
  return end == std::string_view::npos ? std::string_view() : text.substr(quote + 1, end - quote - 1);
}

// `--config=base.yaml` names base.yaml.
std::vector<std::string> on_command_line(const std::vector<std::string>& argv) {
  std::vector<std::string> names;
  for (const std::string& word : argv) {
    if (is_settings_file(word)) names.push_back(word.substr(word.find('=') == std::string::npos ? 0 : word.find('=') + 1));
  }
  return names;
}

struct Found {
  fs::path root;
  std::vector<SettingsFile> files;
  std::set<fs::path> looked;

  // A name is from where the script ran or from the file that has it.
  void add(const std::string& name, const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) {
      const fs::path path = (folder / name).lexically_normal();
      if (files.size() >= kMostFiles || !looked.insert(path).second) continue;
      if (auto text = read_file_inside(root, path, kMostSource)) files.push_back({path, std::move(*text)});
    }
  }
};

}  // namespace

bool is_settings_file(const fs::path& file) {
  return std::ranges::find(kEndings, file.extension().string()) != kEndings.end();
}

std::vector<std::string> named_settings(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view ending : kEndings) {
    for (std::size_t at = text.find(ending); at != std::string_view::npos; at = text.find(ending, at + ending.size())) {
      const std::size_t quote = at + ending.size();
      if (quote >= text.size() || (text[quote] != '"' && text[quote] != '\'')) continue;
      if (const std::string_view name = literal_before(text, quote); !name.empty()) names.emplace_back(name);
    }
  }
  if (const std::string_view name = set_to(text, "config_name"); !name.empty() && !is_settings_file(name)) {
    names.push_back((fs::path(set_to(text, "config_path")) / name).string() + ".yaml");
  }
  return names;
}

std::vector<SettingsFile> settings_files(const profile::Profile& profile) {
  const auto manifest = profile::read_manifest(profile.folder);
  const fs::path store = fs::absolute(profile.folder).lexically_normal().parent_path();
  if (!manifest || store.filename() != "profiles" || store.parent_path().filename() != ".hotlens") return {};
  Found found{.root = store.parent_path().parent_path(), .files = {}, .looked = {}};
  for (const std::string& name : on_command_line(manifest->argv)) found.add(name, {manifest->cwd, found.root});
  std::size_t sources = 0;
  for (std::size_t at = 0; at < profile.files.size() && sources < kMostSources; ++at) {
    const profile::SourceFile& file = profile.files[at];
    if (!file.workspace) continue;
    ++sources;
    const auto text = profile::executed_text(profile, profile::FileId{static_cast<std::uint32_t>(at)});
    if (!text) continue;
    for (const std::string& name : named_settings(*text)) found.add(name, {manifest->cwd, file.path.parent_path(), found.root});
  }
  return std::move(found.files);
}

}  // namespace hotlens::timeline_requests
