#include "server/session/profiling/failure_marks.h"

#include <algorithm>
#include <utility>

#include "protocol/uri.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {
namespace {

using protocol::Json;

constexpr const char* kRunPart = "run";

// A virtual environment may lie in the workspace.
bool is_installed(const std::filesystem::path& file) {
  return std::ranges::any_of(file, [](const std::filesystem::path& part) { return part == "site-packages" || part == "dist-packages"; });
}

std::string words(const runs::Failure& failure, const std::string& otherwise) {
  std::string text = failure.type;
  if (!failure.message.empty()) text.append(text.empty() ? "" : ": ").append(failure.message);
  return text.empty() ? otherwise : text;
}

}  // namespace

// The innermost place in the user's own files: an error inside a library is rarely the library's.
std::optional<runs::Frame> FailureMarks::place_of(const runs::Failure& failure) {
  std::vector<runs::Frame> frames = runs::frames_of(failure.traceback);
  if (!failure.file.empty() && failure.line) frames.push_back({failure.file, *failure.line, failure.cell});
  const auto is_own = [&](const runs::Frame& frame) {
    return workspace_.documents.at(frame.file) != nullptr ||
           std::ranges::any_of(workspace_.folders, [&](const std::filesystem::path& folder) {
             return std::ranges::mismatch(folder, frame.file).in1 == folder.end() && !is_installed(frame.file);
           });
  };
  const auto own = std::ranges::find_if(frames.rbegin(), frames.rend(), is_own);
  if (own != frames.rend()) return *own;
  if (!failure.file.empty() && failure.line) return frames.back();
  return std::nullopt;
}

// The whole line without its indentation; a client clamps an end beyond it.
protocol::Range FailureMarks::range_at(const Document* document, std::uint32_t line) const {
  protocol::Range range{{line, 0}, {line, 1000}};
  if (document == nullptr || line >= document->lines().lines()) return range;
  const std::string_view text = line_text(document->text(), document->lines(), line);
  const auto indent = std::min(text.find_first_not_of(" \t"), text.size());
  range.start.character = units(text.substr(0, indent), client_.can.encoding);
  range.end.character = units(text, client_.can.encoding);
  return range;
}

void FailureMarks::put(const runs::Failure& failure, const std::string& message) {
  const auto place = place_of(failure);
  if (!place) return;
  const Document* document = workspace_.documents.at(place->file.lexically_normal());
  const std::string uri = document != nullptr ? document->uri() : protocol::uri_of_path(place->file);
  const auto in_script = place->cell > 0 ? workspace_.notebooks.line_of(place->file, place->cell, place->line) : std::nullopt;
  const Json diagnostic{{"range", to_json(range_at(document, in_script.value_or(place->line)))},
                        {"severity", severity::kError},
                        {"source", "hotlens"},
                        {"code", "run-failed"},
                        {"message", words(failure, message)}};
  client_.diagnose(uri, kRunPart, Json::array({diagnostic}));
  uris_.insert(uri);
}

void FailureMarks::clear() {
  for (const std::string& uri : std::exchange(uris_, {})) {
    client_.diagnose(uri, kRunPart, Json::array());
  }
}

}  // namespace hotlens::session
