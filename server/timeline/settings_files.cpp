#include "server/timeline/settings_files.h"

#include <algorithm>
#include <array>

#include "annotator/common/file.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/moved_files.h"

namespace hotlens::timeline_requests {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSettings = 20;
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
    if (is_settings_file(word)) names.push_back(word.substr(word.find('=') + 1));  // npos + 1 is the word's begin
  }
  return names;
}

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

SettingsFiles::SettingsFiles(const profile::Profile& profile) {
  const auto manifest = profile::read_manifest(profile.folder);
  if (!manifest) return;
  root_ = profile::workspace_of(profile.folder);
  ran_in_ = manifest->cwd;
  for (const std::string& name : on_command_line(manifest->argv)) {
    for (const fs::path& folder : {ran_in_, root_}) add(name, folder);
  }
}

// A name is from where the script ran, or from the file that has it.
void SettingsFiles::add(const fs::path& source, std::string_view text) {
  for (const std::string& name : named_settings(text)) {
    for (const fs::path& folder : {ran_in_, source.parent_path(), root_}) add(name, folder);
  }
}

void SettingsFiles::add(const std::string& name, const fs::path& folder) {
  const fs::path path = (folder / name).lexically_normal();
  if (root_.empty() || found_.size() >= kMostSettings || !looked_.insert(path).second) return;
  if (auto text = read_file_inside(root_, path, kMostSource)) found_.push_back({path, std::move(*text)});
}

}  // namespace hotlens::timeline_requests
