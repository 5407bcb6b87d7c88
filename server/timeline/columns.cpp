#include "server/timeline/columns.h"

namespace hotlens::timeline_requests {

using protocol::Json;

std::size_t Texts::at(std::string_view text) {
  const auto [entry, fresh] = positions_.try_emplace(std::string(text), list_.size());
  if (fresh) list_.push_back(text);
  return entry->second;
}

void Columns::add(Cell cell) {
  start_.push_back(cell.start.count());
  duration_.push_back(cell.duration.count());
  label_.push_back(cell.label);
  kind_.push_back(kinds_.at(cell.kind));
  stage_.push_back(stages_.at(cell.stage));
  direction_.push_back(cell.direction);
  count_.push_back(cell.count);
  busy_.push_back(cell.busy.count());
  whole_.push_back(cell.whole.count());
  waiting_.push_back(cell.waiting.count());
  spans_.push_back(cell.spans);
  segment_.push_back(std::move(cell.segment));
  open_.push_back(cell.open ? 1 : 0);
}

Json Columns::take(Json labels) {
  return {
      {"start", std::move(start_)}, {"duration", std::move(duration_)},   {"label", std::move(label_)}, {"kind", std::move(kind_)},
      {"stage", std::move(stage_)}, {"direction", std::move(direction_)}, {"count", std::move(count_)}, {"busy", std::move(busy_)},
      {"whole", std::move(whole_)}, {"waiting", std::move(waiting_)},     {"spans", std::move(spans_)}, {"segment", std::move(segment_)},
      {"open", std::move(open_)},   {"labels", std::move(labels)},        {"kinds", kinds_.take()},     {"stages", stages_.take()}};
}

}  // namespace hotlens::timeline_requests
