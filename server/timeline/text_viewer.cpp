#include "server/timeline/text_viewer.h"

#include <algorithm>
#include <span>

#include "server/text/draw.h"
#include "server/text/words.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {

using protocol::Json;
using text::Cursor;

std::optional<protocol::RpcError> Viewer::open() {
  const auto opened = library_.open(view_.profile);
  if (!opened) return gone(opened.error());
  if ((*opened)->profile().steps.empty()) return gone({ErrorCode::not_found, "this profile has no step to draw", {}});
  opened_ = *opened;
  blocks_ = nullptr;
  levels_.clear();
  view_.profile = opened_->id();
  if (!view_.step || *view_.step >= profile().steps.size()) view_.step = profile().representative;
  if (view_.search && view_.search->step >= profile().steps.size()) view_.search.reset();
  return std::nullopt;
}

const blocks::Blocks& Viewer::blocks() {
  if (!blocks_) blocks_ = opened_->blocks(step());
  return *blocks_;
}

const text::Levels& Viewer::levels() {
  if (levels_.empty()) look();
  return levels_;
}

const std::optional<Cursor>& Viewer::cursor() {
  levels();
  return cursor_;
}

const features::ShownBlock* Viewer::chosen() {
  return cursor() ? &text::block_at(levels_, *cursor_) : nullptr;
}

// Of a path that the step does not have what it has of it.
void Viewer::leave_what_is_gone() {
  if (blocks::find_block(blocks(), view_.path)) return;
  while (!blocks::find_block(blocks(), view_.path)) view_.path.pop_back();
  view_.zoom.reset();
  view_.cursor.reset();
  say("This step has no such block. This is the nearest level that it has.");
}

void Viewer::look() {
  text::Looked looked{.width = text::width_of(columns_), .unfold = view_.unfold};
  if (view_.recording) {
    looked.zoom = view_.zoom;
    levels_.push_back(text::level_of(opened_->recording(), profile(), looked));
  } else {
    leave_what_is_gone();
    for (std::size_t depth = 0; depth <= view_.path.size(); ++depth) {
      if (depth == view_.path.size()) looked.zoom = view_.zoom;
      const auto block = blocks::find_block(blocks(), std::span(view_.path).first(depth));
      levels_.push_back(text::level_of(blocks(), *block, &profile().steps[step()], looked));
    }
  }
  cursor_.reset();
  move(found_cursor());
  wanted_.clear();
}

std::optional<Cursor> Viewer::found_cursor() const {
  const std::size_t lowest = levels_.size() - 1;
  if (const auto found = wanted_.empty() ? std::nullopt : text::first_in(levels_, lowest, wanted_)) return found;
  if (wanted_.empty() && view_.cursor && view_.cursor->depth <= lowest) {
    const auto& tracks = levels_[view_.cursor->depth].tracks;
    const auto track = std::ranges::find(tracks, view_.cursor->track, &features::ShownTrack::id);
    const auto at = static_cast<std::size_t>(track - tracks.begin());
    if (const auto found = track == tracks.end() ? std::nullopt : text::nearest(levels_, view_.cursor->depth, at, view_.cursor->at)) {
      return found;
    }
  }
  return text::first_in(levels_, lowest);
}

void Viewer::show(std::vector<std::string> path, std::string wanted) {
  view_.path = std::move(path);
  view_.cursor.reset();
  wanted_ = std::move(wanted);
  see(std::nullopt);
}

void Viewer::show_block(std::vector<std::string> path) {
  std::string last = path.empty() ? "" : std::move(path.back());
  if (!path.empty()) path.pop_back();
  show(std::move(path), std::move(last));
}

void Viewer::show_step(std::size_t step) {
  view_.recording = false;
  if (view_.step != step) blocks_ = nullptr;
  view_.step = step;
}

void Viewer::see(std::optional<text::Moments> zoom) {
  view_.zoom = zoom;
  view_.told.clear();
  levels_.clear();
}

void Viewer::move(const std::optional<Cursor>& cursor) {
  if (!cursor) return;  // the way ends here
  cursor_ = cursor;
  view_.cursor = {.depth = cursor->depth, .track = text::track_at(levels_, *cursor).id, .at = text::block_at(levels_, *cursor).start};
}

std::vector<std::string> Viewer::foot() {
  std::vector<std::string> lines;
  std::uint32_t block = blocks::kNoBlock;
  if (const features::ShownBlock* chosen = this->chosen()) {
    const Ns whole = view_.recording ? opened_->recording().length : blocks().wall;
    lines.push_back(text::chosen_line(text::track_at(levels_, *cursor_), *chosen, whole, view_.recording ? "recording" : "step"));
    block = chosen->block;
  } else {
    lines.push_back("▸ " + text::spaced(profile().verdict.kind));
  }
  if (block != blocks::kNoBlock) {
    for (std::string& line : text::details_of(blocks(), profile(), block, near_)) lines.push_back(std::move(line));
  }
  if (auto memory = text::memory_line(blocks(), profile(), block)) lines.push_back(std::move(*memory));
  lines.insert(lines.end(), view_.told.begin(), view_.told.end());
  if (!note_.empty()) lines.push_back(note_);
  return lines;
}

protocol::Answer Viewer::answer() {
  if (auto error = ready()) return std::unexpected(*error);
  text::Picture picture;
  for (std::size_t depth = 0; depth < levels().size(); ++depth) {
    const bool here = cursor_ && cursor_->depth == depth;
    text::draw(picture, levels_[depth], here ? std::optional(text::Chosen{cursor_->track, cursor_->index}) : std::nullopt);
    picture.lines.emplace_back();
  }
  for (const std::string& line : foot()) text::add_text(picture, line, "dim");
  Json marks = Json::array();
  for (const text::Mark& mark : picture.marks) marks.push_back({mark.line, mark.from, mark.to, mark.what});
  const text::Moments window = levels_.back().seen();
  Json seen{{"profile", view_.profile}, {"from", window.from.count()}, {"to", window.to.count()}};
  if (view_.recording) {
    seen["recording"] = true;
  } else {
    seen["step"] = step();
    seen["path"] = view_.path;
  }
  Json answer{{"view", view_json(view_)}, {"seen", std::move(seen)}, {"lines", picture.lines}, {"marks", std::move(marks)}};
  if (picture.chosen) answer["cursor"] = {picture.chosen->line, picture.chosen->byte};
  if (place_) answer["place"] = {{"file", profile().files[place_->site.file.index].path.string()}, {"line", place_->site.line}};
  return answer;
}

}  // namespace hotlens::timeline_requests
