#include "annotator/guess/match/place_candidates.h"

#include <algorithm>
#include <optional>

namespace hotlens::guess {
namespace {

constexpr std::size_t kMostHolders = 64;  // of one place, by all names

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

// What holds a place, and what holds that, nearest first.
std::vector<ValueId> PlaceCandidates::holders(ValueId place) const {
  std::vector<ValueId> found{evaluator_.at(place).of};
  for (std::size_t i = 0; i < found.size() && found.size() < kMostHolders; ++i) {
    for (const ValueId one : evaluator_.places_of(found[i])) {
      const ValueId holder = evaluator_.at(one).of;
      if (std::ranges::find(found, holder) == found.end()) found.push_back(holder);
    }
  }
  return found;
}

// Whether a walk through all modules finds `other` before it finds `place`, another name of the same object.
bool PlaceCandidates::stands_before(ValueId other, ValueId place) const {
  const std::vector<ValueId> ours = holders(place), theirs = holders(other);
  const auto common = std::ranges::find_if(ours, [&](ValueId one) { return std::ranges::find(theirs, one) != theirs.end(); });
  if (common == ours.end()) return false;
  const auto leads_to = [&](const Slot& slot, ValueId wanted, const std::vector<ValueId>& by) {
    const ValueId child = evaluator_.object(slot.value);
    return slot.value == wanted || (child != *common && std::ranges::find(by, child) != by.end());
  };
  for (const auto* children : {&evaluator_.at(*common).slots, &evaluator_.at(*common).entries}) {
    for (const Slot& slot : *children) {
      if (leads_to(slot, place, ours)) return false;
      if (leads_to(slot, other, theirs)) return !slot.optional;
    }
  }
  return false;
}

// Where an object got its name: what is taken from a list has it elsewhere, what has two has the first.
ValueId PlaceCandidates::named(ValueId place, const std::vector<ValueId>& all) const {
  if (!evaluator_.is_same_made(place, place)) return place;
  const std::vector<ValueId>& names = evaluator_.places_of(evaluator_.object(place));
  if (evaluator_.at(place).kind != Value::Kind::place) return names.size() == 1 ? names.front() : place;
  if (std::ranges::any_of(all, [&](ValueId other) { return !evaluator_.is_same_made(place, other); })) return place;
  ValueId first = place;
  for (const ValueId one : names) {
    if (one != first && evaluator_.at(one).certain && stands_before(one, first)) first = one;
  }
  return first;
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

}  // namespace hotlens::guess
