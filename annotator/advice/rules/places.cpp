#include "annotator/advice/rules/places.h"

#include "annotator/profile/place_name.h"
#include "annotator/trace/python_frame.h"

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

std::optional<CodePlace> user_frame(std::string_view name) {
  const auto frame = trace::frame_named(name);
  if (!frame || !trace::is_own_file(frame->path)) return std::nullopt;
  return CodePlace{frame->path, frame->line};
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
