#include "annotator/advice/edits/sources.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "annotator/common/file.h"
#include "annotator/source/notebook/notebook.h"

namespace hotlens::advice {

namespace fs = std::filesystem;

std::size_t Sources::file_of(const profile::Site& site) const {
  if (!site.file.valid() || site.file.index >= model.files.size()) return files.size();
  const auto found = std::ranges::find(files, model.files[site.file.index].path, &SourceText::path);
  return static_cast<std::size_t>(found - files.begin());
}

Result<Sources> read_executed(const fs::path& bundle) {
  auto model = profile::read_model(bundle);
  if (!model) return std::unexpected(model.error());
  constexpr int kMostWorkers = 4;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  Sources sources{.model = std::move(*model), .loader_workers = std::clamp(processors - 1, 1, kMostWorkers), .files = {}};
  if (const auto manifest = profile::read_manifest(bundle)) {
    const bool cuda = std::ranges::any_of(manifest->devices, [](const profile::Device& device) { return device.kind == "cuda"; });
    if (cuda) sources.device = "cuda";
    sources.optimizers = manifest->optimizers;
  }
  for (const profile::SourceFile& file : sources.model.files) {
    if (!file.workspace || file.copy.empty()) continue;
    if (auto executed = read_file_inside(bundle, file.copy, kMostSource))
      sources.files.push_back({.path = file.path, .text = std::move(*executed)});
  }
  return sources;
}

Result<Sources> read_sources(const fs::path& bundle) {
  auto sources = read_executed(bundle);
  if (!sources) return sources;
  for (SourceText& file : sources->files) {
    auto now = source::read_source(file.path, kMostSource);
    file.as_executed = now && now->text == file.text;
    file.can_be_edited = ::access(file.path.c_str(), W_OK) == 0;
    if (now) file.text = std::move(now->text);
  }
  return sources;
}

void open_in_editor(Sources& sources, const fs::path& path, std::string text) {
  for (SourceText& file : sources.files) {
    if (file.path != path) continue;
    file.as_executed = file.as_executed && file.text == text;
    file.text = std::move(text);
  }
}

}  // namespace hotlens::advice
