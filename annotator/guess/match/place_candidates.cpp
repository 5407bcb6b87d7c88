#include "annotator/guess/match/place_candidates.h"

#include <algorithm>
#include <optional>

namespace hotlens::guess {
namespace {

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

// The places at which an object got a name for certain: it is shown under one of them. What is taken from a plain list has it elsewhere.
std::vector<ValueId> PlaceCandidates::names(ValueId place) const {
  std::vector<ValueId> all;
  const bool named = evaluator_.at(place).kind == Value::Kind::place;
  for (const ValueId one : evaluator_.places_of(evaluator_.object(place))) {
    const bool counts = evaluator_.is_same_made(place, one) && (!named || evaluator_.at(one).certain);
    if (counts) all.push_back(one);
  }
  if (named || all.empty()) add_once(all, place);
  return all;
}

void PlaceCandidates::settle(std::uint32_t module, PlacedModule& to) const {
  if (known_[module].empty()) return;
  OneLine attached, constructed;
  for (const ValueId one : known_[module]) {
    for (const ValueId name : names(one)) attached.add(evaluator_.at(name).kind == Value::Kind::place ? evaluator_.at(name).spot : Spot{});
    const std::vector<Spot> made = evaluator_.made_at(evaluator_.object(one));
    constructed.add(made.empty() ? Spot{} : made.front());
  }
  if (attached.holds()) to.attached = attached.first();
  const bool other = constructed.first() && (!attached.first() || !on_one_line(*constructed.first(), *attached.first()));
  if (constructed.holds() && other) to.constructed = constructed.first();
}

}  // namespace hotlens::guess
