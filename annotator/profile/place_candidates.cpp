#include "annotator/profile/place_candidates.h"

#include <algorithm>
#include <optional>

namespace hotlens::profile {
namespace {

using source::Spot;
using source::Value;
using source::ValueId;

bool on_one_line(const Spot& a, const Spot& b) {
  return a.code == b.code && a.range.begin.line == b.range.begin.line;
}

// The first of several spots, as long as all are on its line.
class OneLine {
 public:
  void add(const Spot& spot) {
    one_ = one_ && spot.known() && (!first_ || on_one_line(*first_, spot));
    if (!first_ && spot.known()) first_ = spot;
  }
  const std::optional<Spot>& first() const { return first_; }
  bool holds() const { return one_; }

 private:
  std::optional<Spot> first_;
  bool one_ = true;
};

}  // namespace

bool PlaceCandidates::same_spot(ValueId a, ValueId b) const {
  const Value &one = evaluator_.at(a), &other = evaluator_.at(b);
  return one.kind == Value::Kind::place && other.kind == Value::Kind::place && one.spot == other.spot;
}

void PlaceCandidates::note(std::uint32_t module, const std::vector<ValueId>& places) {
  auto& known = known_[module];
  if (known.empty()) {
    known = places;
    return;
  }
  if (places.empty()) return;
  std::erase_if(known, [&](ValueId place) {
    return std::ranges::none_of(
        places, [&](ValueId other) { return other == place || same_spot(place, other) || evaluator_.is_same_made(place, other); });
  });
}

// Whether the holder of `place`'s list was given the object itself before the list.
bool PlaceCandidates::stands_before(ValueId other, ValueId place) const {
  const std::vector<source::Slot>& slots = evaluator_.at(evaluator_.at(other).of).slots;
  const auto own = std::ranges::find(slots, other, &source::Slot::value);
  return own != slots.end() && !own->optional && std::any_of(own, slots.end(), [&](const source::Slot& later) {
           return !later.optional && evaluator_.object(later.value) == evaluator_.at(place).of;
         });
}

// Where an object got its name: what is taken from a list has it elsewhere, what has two has the first.
ValueId PlaceCandidates::named(ValueId place, const std::vector<ValueId>& all) const {
  if (!evaluator_.is_same_made(place, place)) return place;
  const std::vector<ValueId>& names = evaluator_.places_of(evaluator_.object(place));
  if (evaluator_.at(place).kind != Value::Kind::place) return names.size() == 1 ? names.front() : place;
  if (std::ranges::any_of(all, [&](ValueId other) { return !evaluator_.is_same_made(place, other); })) return place;
  const ValueId holder = evaluator_.at(place).of;
  const auto first = std::ranges::find_if(names, [&](ValueId one) {
    const auto holds = [&](const source::Slot& slot) { return slot.value == one && !slot.optional; };
    return one == place || stands_before(one, place) ||
           (evaluator_.at(one).of == holder && std::ranges::any_of(evaluator_.at(holder).slots, holds));
  });
  return first != names.end() ? *first : place;
}

void PlaceCandidates::settle(std::uint32_t module, PlacedModule& to) const {
  if (known_[module].empty()) return;
  OneLine attached, constructed;
  for (const ValueId one : known_[module]) {
    const ValueId place = named(one, known_[module]);
    const Value& value = evaluator_.at(place);
    attached.add(value.kind == Value::Kind::place ? value.spot : Spot{});
    const std::vector<Spot> made = evaluator_.made_at(evaluator_.object(place));
    constructed.add(made.empty() ? Spot{} : made.front());
  }
  if (attached.holds()) to.attached = attached.first();
  const bool other = constructed.first() && (!attached.first() || !on_one_line(*constructed.first(), *attached.first()));
  if (constructed.holds() && other) to.constructed = constructed.first();
}

}  // namespace hotlens::profile
