#include "annotator/advice/rules/places.h"

#include <charconv>

#include "annotator/profile/place_name.h"

namespace hotlens::rules {
namespace {

using attribution::kNothing;

std::optional<CodePlace> recorded(const Recording& recording, std::uint32_t node) {
  const attribution::Chains& lines = recording.owners.lines;
  for (std::uint32_t link = recording.owners.of[node].line; link != kNothing; link = lines.parent[link]) {
    if (lines.value[link] >= recording.model->lines.size()) continue;
    const profile::ModelLine& line = recording.model->lines[lines.value[link]];
    if (!line.file.valid()) continue;
    const profile::SourceFile& file = recording.model->files[line.file.index];
    if (!file.workspace) continue;
    const auto at = profile::cell_line(file.cells, line.line);
    if (!at) return CodePlace{file.path.string(), line.line};
    return CodePlace{file.path.string() + " cell " + std::to_string(at->cell), at->line};  // as a traceback has it
  }
  return std::nullopt;
}

// "train.py(161): step" is a place in someone's code; torch's own frames, built-in functions and modules are none.
std::optional<CodePlace> user_frame(std::string_view name) {
  const std::size_t open = name.find(".py(");
  if (open == std::string_view::npos || name.starts_with("torch/") || name.contains("/torch/") || name.starts_with('<'))
    return std::nullopt;
  std::int64_t line = 0;
  const char* begin = name.data() + open + 4;
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), line);
  if (error != std::errc{} || end == name.data() + name.size() || *end != ')' || line < 1) return std::nullopt;
  return CodePlace{std::string(name.substr(0, open + 3)), line - 1};
}

std::optional<CodePlace> framed(const Recording& recording, std::uint32_t node) {
  const trace::Events& events = recording.trace.events;
  const std::uint32_t event = recording.forest.event[node];
  std::optional<CodePlace> innermost;
  Ns begun = Ns::min();
  for (std::uint32_t frame = 0; frame < events.size(); ++frame) {
    if (events.category[frame] != trace::Category::python || events.thread[frame] != events.thread[event]) continue;
    if (events.start[frame] > events.start[event] || events.end(frame) < events.end(event) || events.start[frame] < begun) continue;
    if (auto place = user_frame(recording.trace.names[events.name[frame]])) {
      innermost = std::move(place);
      begun = events.start[frame];
    }
  }
  return innermost;
}

}  // namespace

std::optional<CodePlace> place_of(const Recording& recording, std::uint32_t node) {
  if (node == attribution::kNoNode) return std::nullopt;
  return recording.model ? recorded(recording, node) : framed(recording, node);
}

}  // namespace hotlens::rules
