#include "annotator/attribution/owners/places.h"

#include <algorithm>
#include <utility>

namespace hotlens::attribution {

PlaceFinder::PlaceFinder(const Places& places, const Chains& lines) : lines_(lines) {
  for (std::uint32_t place = 0; place < places.size(); ++place) {
    const std::uint32_t line = places[place].line;
    if (line == kNothing) continue;
    if (line >= by_line_.size()) by_line_.resize(line + std::size_t{1});
    by_line_[line].push_back({places[place].stage, place});
  }
}

void PlaceFinder::begin_thread() {
  last_.fill({});
}

std::uint32_t PlaceFinder::of(const Owner& owner, bool gap) {
  guessed_ = false;
  if (by_line_.empty()) return kNothing;
  if (const std::pair asked(owner.stage, owner.line); asked != asked_) {
    asked_ = asked;
    answer_ = on_chain(owner.stage, owner.line);
  }
  Last& last = last_[static_cast<std::size_t>(owner.stage)];
  if (answer_ != kNothing) {
    last = {answer_, owner.line};
    return answer_;
  }
  const bool between = owner.line == kNothing || (last.line != kNothing && lines_.common(owner.line, last.line) == owner.line);
  if (!between || last.place == kNothing) return kNothing;
  guessed_ = !gap;
  return last.place;
}

std::uint32_t PlaceFinder::on_chain(Stage stage, std::uint32_t line) const {
  for (; line != kNothing; line = lines_.parent[line]) {
    if (lines_.value[line] >= by_line_.size()) continue;
    const std::vector<Place>& here = by_line_[lines_.value[line]];
    const auto found = std::ranges::find(here, stage, &Place::stage);
    if (found != here.end()) return found->line;
  }
  return kNothing;
}

}  // namespace hotlens::attribution
