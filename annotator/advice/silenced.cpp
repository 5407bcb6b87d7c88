#include "annotator/advice/silenced.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "annotator/advice/append.h"
#include "annotator/common/file.h"

namespace hotlens::advice {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kSilencedSchema = "hotlens.silenced/1", kName = "silenced.jsonl";
constexpr std::size_t kMostSilencedBytes = std::size_t{16} << 20;

struct Line {
  Silenced place;
  bool silenced = true;
};

// The workspace, whatever link leads to it.
fs::path root_of(const fs::path& list) {
  std::error_code error;
  const fs::path folder = list.parent_path().parent_path();
  const fs::path real = fs::weakly_canonical(folder, error);
  return error ? folder : real;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

std::optional<Line> decoded(std::string_view text, const fs::path& root) {
  const json line = json::parse(text, nullptr, false);
  const auto is_text = [&](const char* key) { return line.contains(key) && line[key].is_string(); };
  if (!line.is_object() || line.value("schema", json()) != kSilencedSchema || !is_text("kind") || !is_text("file") || !is_text("text"))
    return {};
  const json nth = line.value("nth", json(0U)), silenced = line.value("silenced", json(true));
  if (!nth.is_number_unsigned() || !silenced.is_boolean()) return {};
  return Line{.place = {.kind = line["kind"],
                        .file = (root / line["file"].get<std::string>()).lexically_normal(),
                        .text = line["text"],
                        .nth = nth},
              .silenced = silenced};
}

Result<void> add(const fs::path& list, const Line& line) {
  const fs::path root = root_of(list), &file = line.place.file;
  const json encoded{{"schema", kSilencedSchema},
                     {"kind", line.place.kind},
                     {"file", is_inside(file, root) ? file.lexically_relative(root).string() : file.string()},
                     {"text", line.place.text},
                     {"nth", line.place.nth},
                     {"silenced", line.silenced}};
  return append_line(list, encoded.dump(-1, ' ', false, json::error_handler_t::replace), "what is silenced");
}

}  // namespace

fs::path silenced_of(const fs::path& bundle) {
  return bundle.parent_path().parent_path() / kName;
}

fs::path silenced_in(const fs::path& folder) {
  return folder / ".hotlens" / kName;
}

std::vector<Silenced> read_silenced(const fs::path& list) {
  std::vector<Silenced> all;
  const auto text = read_file(list, kMostSilencedBytes);
  if (!text) return all;
  const fs::path root = root_of(list);
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    if (auto line = decoded(std::string_view(*text).substr(at, end - at), root)) {
      std::erase(all, line->place);
      if (line->silenced) all.push_back(std::move(line->place));
    }
    at = end + 1;
  }
  return all;
}

Silenced place_to_silence(const Suggestion& suggestion) {
  return {.kind = suggestion.change.kind, .file = suggestion.file, .text = suggestion.at.text, .nth = suggestion.at.nth};
}

bool silences(const std::vector<Silenced>& all, const Silenced& place) {
  return std::ranges::find(all, place) != all.end();
}

Result<void> silence(const fs::path& list, const Silenced& place) {
  return add(list, {.place = place, .silenced = true});
}

Result<void> tell_again(const fs::path& list, const Silenced& place) {
  return add(list, {.place = place, .silenced = false});
}

}  // namespace hotlens::advice
