// saved.json as values.
#include "annotator/profile/saved.h"

#include <algorithm>
#include <array>
#include <utility>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/json.h"

namespace hotlens::profile {
namespace {

using namespace json;

constexpr int kSavedSchema = 1;
// As many rows as a recorder writes; more are somebody else's.
constexpr std::size_t kMostRows = 20'000;

std::optional<SavedKind> kind_named(const std::string& text) {
  constexpr std::array<std::string_view, kSavedKinds> kNames = {"activation", "input", "parameter", "buffer"};
  for (std::size_t kind = 0; kind < kNames.size(); ++kind) {
    if (kNames[kind] == text) return static_cast<SavedKind>(kind);
  }
  return std::nullopt;
}

SavedTensors::Saver saver_of(const Json& entry, const Model& model) {
  SavedTensors::Saver saver{.node = text(entry, "node"), .module = {}, .place = {}};
  if (const auto module = small(entry, "module"); module && *module < model.modules.size()) saver.module = ModuleId{*module};
  if (const auto line = small(entry, "line"); line && *line < model.lines.size() && model.lines[*line].file.valid()) {
    saver.place = SavedTensors::Place{.file = model.lines[*line].file, .line = model.lines[*line].line};
  }
  return saver;
}

// How many of a row there are, so that sizes of all of them stay sizes.
std::int64_t count_of(const Json& entry, Bytes one = Bytes{1}) {
  const std::int64_t number = whole(entry, "count").value_or(0);
  return number > 0 && number <= kMostBytes / std::max<std::int64_t>(count(one), 1) ? number : 0;
}

std::vector<SavedTensors::Use> uses_of(const Json& entry, std::size_t savers) {
  std::vector<SavedTensors::Use> uses;
  for (const Json& by : objects(entry, "by")) {
    const auto saver = small(by, "saver");
    const std::int64_t elements = whole(by, "elements").value_or(-1);
    if (saver && *saver < savers && elements >= 0) uses.push_back({.saver = *saver, .as = text(by, "as"), .elements = elements});
  }
  return uses;
}

std::optional<SavedTensors::Storage> storage_of(const Json& entry, std::size_t savers) {
  const auto kind = kind_named(text(entry, "kind"));
  const auto bytes = size(entry, "bytes");
  if (!kind || !bytes) return std::nullopt;
  SavedTensors::Storage storage{
      .kind = *kind, .device = text(entry, "device"), .bytes = *bytes, .count = count_of(entry, *bytes), .by = uses_of(entry, savers)};
  return storage.count > 0 && !storage.by.empty() ? std::optional(std::move(storage)) : std::nullopt;
}

}  // namespace

Result<SavedTensors> read_saved(const std::filesystem::path& folder, const std::string& name, const Model& model) {
  const Result<Document> read = read_json(folder, name);
  if (!read) return std::unexpected(read.error());
  const std::filesystem::path file = folder / name;
  const Json& json = read->json;
  if (const auto schema = check_schema(json, "saved", kSavedSchema, file); !schema) return std::unexpected(schema.error());
  SavedTensors saved{.refused = text(json, "refused"),
                     .pass = whole(json, "pass").value_or(1),
                     .passes = whole(json, "passes").value_or(1),
                     .savers = {},
                     .storages = {},
                     .hooked = {},
                     .opaque = {},
                     .unreadable = std::max<std::int64_t>(whole(json, "unreadable").value_or(0), 0)};
  const std::vector<Json> savers = objects(json, "savers"), storages = objects(json, "storages");
  const std::vector<Json> hooked = objects(json, "hooked"), opaque = objects(json, "opaque");
  if (std::max({savers.size(), storages.size(), hooked.size(), opaque.size()}) > kMostRows)
    return std::unexpected(broken(file, "it has more rows than a recording has"));
  for (const Json& entry : savers) saved.savers.push_back(saver_of(entry, model));
  for (const Json& entry : storages) {
    if (auto storage = storage_of(entry, savers.size())) saved.storages.push_back(std::move(*storage));
  }
  for (const Json& entry : hooked) {
    const auto saver = small(entry, "saver");
    if (saver && *saver < savers.size() && count_of(entry) > 0) saved.hooked.push_back({.saver = *saver, .count = count_of(entry)});
  }
  for (const Json& entry : opaque) {
    if (count_of(entry) > 0) saved.opaque.push_back({.node = text(entry, "node"), .count = count_of(entry)});
  }
  return saved;
}

}  // namespace hotlens::profile
