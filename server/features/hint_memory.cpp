#include "server/features/hint_memory.h"

#include <algorithm>
#include <utility>

namespace hotlens::features {

void HintMemory::use_for(const std::shared_ptr<const FileFacts>& facts, const Options& options) {
  if (facts == facts_ && options == options_) return;
  facts_ = facts;
  options_ = options;
  lines_.clear();
}

const LineWords* HintMemory::find(const FileView& view, const std::vector<std::uint32_t>& facts) const {
  const auto known = lines_.find(facts.front());
  if (known == lines_.end() || known->second.facts != facts) return nullptr;
  const auto state_of = [&](std::uint32_t fact) { return view.placements[fact].state; };
  return std::ranges::equal(known->second.states, facts, {}, {}, state_of) ? &known->second.words : nullptr;
}

const LineWords& HintMemory::keep(const FileView& view, const std::vector<std::uint32_t>& facts, LineWords words) {
  Entry entry{.facts = facts, .states = {}, .words = std::move(words)};
  entry.states.reserve(facts.size());
  for (const std::uint32_t fact : facts) entry.states.push_back(view.placements[fact].state);
  return lines_.insert_or_assign(facts.front(), std::move(entry)).first->second.words;
}

}  // namespace hotlens::features
