#include "annotator/profile/build/spans.h"

#include <algorithm>
#include <map>

namespace hotlens::profile {
namespace {

using attribution::kNoNode;
using attribution::kNothing;
using attribution::Owner;
using attribution::Piece;
using attribution::StepAccount;
using attribution::Work;
using Layer = Frame::Layer;

// The frames around a piece of time, outermost first.
class Stacks {
 public:
  explicit Stacks(const attribution::Owners& owners) : owners_(owners) {}

  // The stage and the modules of `owner`, after the frames in `outer`.
  const std::vector<Frame>& around(const Owner& owner, std::optional<Frame> outer) {
    frames_.clear();
    if (outer) frames_.push_back(*outer);
    if (owner.stage != Stage::other)
      frames_.push_back({Layer::stage, static_cast<std::uint32_t>(owner.stage), Direction::forward, kNothing});
    const std::size_t modules = frames_.size();
    for (std::uint32_t call = owner.works_for_module() ? owner.call : kNothing; call != kNothing; call = owners_.calls.parent[call]) {
      frames_.push_back({Layer::module, owners_.calls.value[call], owner.direction, call});
    }
    std::reverse(frames_.begin() + static_cast<std::ptrdiff_t>(modules), frames_.end());
    return frames_;
  }

  const std::vector<Frame>& with_kernel(const Work& work, trace::NameId name) {
    around(work.owner, std::nullopt);
    frames_.push_back({Layer::kernel, name.index, work.owner.direction, work.event});
    return frames_;
  }

 private:
  const attribution::Owners& owners_;
  std::vector<Frame> frames_;
};

// Grows a track from pieces in order of time.
class Builder {
 public:
  explicit Builder(Track& track) : track_(track) {}

  void add(const std::vector<Frame>& frames, Ns start, Ns end) {
    start = std::max(start, reached_);  // kernels of one stream may overlap
    if (end <= start) return;
    std::size_t common = 0;
    while (common < open_.size() && common < frames.size() && track_.spans[open_[common]].frame == frames[common]) ++common;
    close_to(common);
    for (std::size_t at = common; at < frames.size(); ++at) {
      open_.push_back(track_.spans.size());
      track_.spans.push_back({frames[at], start, end, static_cast<std::uint32_t>(at)});
    }
    reached_ = end;
  }

  // Ends the spans deeper than `depth` where the last piece ended.
  void close_to(std::size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) track_.spans[open_.back()].end = reached_;
  }

 private:
  Track& track_;
  std::vector<std::size_t> open_;  // spans around the last piece
  Ns reached_ = Ns::min();
};

void add_pieces(Track& track, const std::vector<Piece>& pieces, std::uint32_t step, Stacks& stacks) {
  Builder builder(track);
  const Frame outer{Layer::step, step, Direction::forward, kNothing};
  Ns reached = Ns::min();
  for (const Piece& piece : pieces) {
    if (piece.start > reached) builder.close_to(0);  // a thread with nothing to do
    builder.add(stacks.around(piece.owner, outer), piece.start, piece.end);
    reached = piece.end;
  }
  builder.close_to(0);
}

// A worker's pieces are of one thread, and one of them at least is inside a node.
std::uint32_t thread_of(const attribution::Forest& forest, const std::vector<Piece>& worker) {
  const auto inside = std::ranges::find_if(worker, [](const Piece& piece) { return piece.node != kNoNode; });
  if (inside == worker.end()) return 0;
  const auto thread = std::ranges::upper_bound(forest.threads, inside->node, {}, &attribution::Forest::Thread::end);
  return static_cast<std::uint32_t>(thread - forest.threads.begin());
}

std::vector<Track> host_tracks(const Annotated& annotated, Stacks& stacks) {
  std::map<std::uint32_t, Track> workers;
  Track main;
  if (annotated.steps.main != kNoNode) main.thread = annotated.forest.threads[annotated.steps.main].id;
  for (std::uint32_t at = 0; at < annotated.account.steps.size(); ++at) {
    const StepAccount& step = annotated.account.steps[at];
    add_pieces(main, step.wall, at, stacks);
    for (const auto& worker : step.workers) {
      const std::uint32_t thread = thread_of(annotated.forest, worker);
      Track& track = workers[thread];
      track.thread = annotated.forest.threads[thread].id;
      add_pieces(track, worker, at, stacks);
    }
  }
  std::vector<Track> tracks{std::move(main)};
  for (auto& [thread, track] : workers) tracks.push_back(std::move(track));
  return tracks;
}

std::vector<Track> device_tracks(const Annotated& annotated, Stacks& stacks) {
  std::map<std::uint32_t, Track> streams;
  std::map<std::uint32_t, Builder> builders;
  for (const Work& work : annotated.account.work) {
    const trace::ThreadId thread = annotated.trace.events.thread[work.event];
    const auto [at, fresh] = streams.try_emplace(thread.index, Track{.thread = thread, .device = true, .spans = {}});
    if (fresh) builders.emplace(thread.index, Builder(at->second));
    builders.at(thread.index).add(stacks.with_kernel(work, annotated.trace.events.name[work.event]), work.start, work.end);
  }
  std::vector<Track> tracks;
  for (auto& [thread, track] : streams) {
    builders.at(thread).close_to(0);
    tracks.push_back(std::move(track));
  }
  return tracks;
}

}  // namespace

std::vector<Track> tracks_of(const Annotated& annotated) {
  Stacks stacks(annotated.owners);
  std::vector<Track> tracks = host_tracks(annotated, stacks);
  for (Track& track : device_tracks(annotated, stacks)) tracks.push_back(std::move(track));
  return tracks;
}

}  // namespace hotlens::profile
