#include "server/features/hints/hint_memory.h"

#include <algorithm>
#include <utility>

namespace hotlens::features {
namespace {

// As words tell states apart: a line that only moved is as good as a fresh one.
source::State told(const FileView& view, std::uint32_t fact) {
  const source::State state = view.placements[fact].state;
  return state == source::State::moved ? source::State::fresh : state;
}

}  // namespace

void HintMemory::use_for(const std::shared_ptr<const FileFacts>& facts, const Options& options) {
  if (facts == facts_ && options == options_) return;
  facts_ = facts;
  options_ = options;
  lines_.clear();
}

const LineWords* HintMemory::find(const FileView& view, const std::vector<std::uint32_t>& facts) const {
  const auto known = lines_.find(facts.front());
  if (known == lines_.end() || known->second.facts != facts) return nullptr;
  const auto state_of = [&](std::uint32_t fact) { return told(view, fact); };
  return std::ranges::equal(known->second.states, facts, {}, {}, state_of) ? &known->second.words : nullptr;
}

const LineWords& HintMemory::keep(const FileView& view, const std::vector<std::uint32_t>& facts, LineWords words) {
  Entry entry{.facts = facts, .states = {}, .words = std::move(words)};
  entry.states.reserve(facts.size());
  for (const std::uint32_t fact : facts) entry.states.push_back(told(view, fact));
  return lines_.insert_or_assign(facts.front(), std::move(entry)).first->second.words;
}

}  // namespace hotlens::features
