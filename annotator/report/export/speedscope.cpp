#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <tuple>

#include "annotator/common/json_text.h"
#include "annotator/profile/build/spans.h"
#include "annotator/report/export/speedscope.h"

namespace hotlens::report {
namespace {

using Layer = profile::Frame::Layer;

// speedscope counts frames by their place in one shared table.
class FrameTable {
 public:
  explicit FrameTable(const profile::Annotated& annotated) : annotated_(annotated), modules_(profile::names_of_modules(annotated)) {}

  std::size_t number(const profile::Frame& frame) {
    const auto key = std::make_tuple(frame.layer, frame.layer == Layer::step ? 0 : frame.id, shown_direction(frame));
    const auto [at, fresh] = known_.try_emplace(key, texts_.size());
    if (fresh) texts_.push_back(text_of(frame));
    return at->second;
  }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  static attribution::Direction shown_direction(const profile::Frame& frame) {
    return frame.layer == Layer::module ? frame.direction : attribution::Direction::forward;
  }

  std::string text_of(const profile::Frame& frame) const {
    switch (frame.layer) {
      case Layer::step:
        return R"({"name":"step"})";
      case Layer::stage:
        return fmt::format(R"({{"name":"{}"}})", name(static_cast<attribution::Stage>(frame.id)));
      case Layer::kernel:
        return fmt::format(R"({{"name":{}}})", json_string(annotated_.trace.names[trace::NameId{frame.id}]));
      case Layer::module:
        return module_text(frame);
    }
    return R"({"name":"?"})";
  }

  // Where the module was made, for speedscope's links to the source.
  std::string module_text(const profile::Frame& frame) const {
    if (frame.id >= modules_.size()) return R"({"name":"?"})";
    const profile::ModuleName& module = modules_[frame.id];
    std::string shown = module.path.empty() ? module.class_name : module.path;
    if (frame.direction != attribution::Direction::forward) shown.append(" (").append(name(frame.direction)).append(")");
    std::string place;
    if (annotated_.how == profile::How::recorded && annotated_.model) {
      const std::optional<profile::Site>& site = annotated_.model->modules[frame.id].attached;
      if (site)
        place =
            fmt::format(R"(,"file":{},"line":{})", json_string(annotated_.model->files[site->file.index].path.string()), site->line + 1);
    }
    return fmt::format(R"({{"name":{}{}}})", json_string(shown), place);
  }

  const profile::Annotated& annotated_;
  std::vector<profile::ModuleName> modules_;
  std::map<std::tuple<Layer, std::uint32_t, attribution::Direction>, std::size_t> known_;
  std::vector<std::string> texts_;
};

std::string name_of(const profile::Annotated& annotated, const profile::Track& track) {
  if (!track.thread.valid()) return "host";
  const trace::Thread& thread = annotated.trace.threads[track.thread.index];
  const std::string own = thread.name.empty() ? (track.device ? "stream " : "thread ") + thread.id : thread.name;
  return track.device ? own + ", device " + thread.process : own;
}

// A track as begin and end events: spans come with outer ones first, so those still open end before the next one begins.
void write_events(const profile::Track& track, Ns origin, FrameTable& frames, std::ostream& out) {
  std::vector<const profile::Span*> open;
  bool first = true;
  const auto event = [&](char type, const profile::Span& span, Ns at) {
    out << fmt::format(R"({}{{"type":"{}","frame":{},"at":{}}})", first ? "" : ",", type, frames.number(span.frame), (at - origin).count());
    first = false;
  };
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) event('C', *open.back(), open.back()->end);
  };
  for (const profile::Span& span : track.spans) {
    close_to(span.depth);
    event('O', span, span.start);
    open.push_back(&span);
  }
  close_to(0);
}

}  // namespace

void export_speedscope(const profile::Annotated& annotated, std::ostream& out) {
  FrameTable frames(annotated);
  const Ns origin = annotated.account.steps.empty() ? Ns{} : annotated.account.steps.front().span.start;
  out << R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"hotlens","name":)"
      << json_string(annotated.path.filename().string()) << R"(,"profiles":[)";
  bool first = true;
  for (const profile::Track& track : profile::tracks_of(annotated)) {
    if (track.spans.empty()) continue;
    const Ns begin = track.spans.front().start;
    const Ns end = std::ranges::max(track.spans, {}, &profile::Span::end).end;
    out << (first ? "\n" : ",\n")
        << fmt::format(R"({{"type":"evented","name":{},"unit":"nanoseconds","startValue":{},"endValue":{},"events":[)",
                       json_string(name_of(annotated, track)), (begin - origin).count(), (end - origin).count());
    first = false;
    write_events(track, origin, frames, out);
    out << "]}";
  }
  out << R"(],"shared":{"frames":[)";
  for (std::size_t at = 0; at < frames.texts().size(); ++at) out << (at == 0 ? "\n" : ",\n") << frames.texts()[at];
  out << "]}}\n";
}

}  // namespace hotlens::report
