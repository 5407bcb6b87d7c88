#include "annotator/trace/event_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "annotator/trace/repair.h"
#include "annotator/trace/scan.h"

namespace hotlens::trace {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kPart = 32 * 1024;  // bytes parsed at once in a window with a fault: some 80 events
constexpr std::size_t kLeastPart = 512;   // where every element has one
constexpr std::size_t kGlance = 512;      // bytes looked at first to find an element's end: most events are shorter

// Bytes looked at to find the ends of damaged elements, for every byte of text. Real faults need two or three; a text made to be slow would
// need its own length for each element.
constexpr std::size_t kPatience = 16;
constexpr std::string_view kSeparators = " \t\r\n,";

// Where the list ends behind an element that begins at the front but never ends, for a quote too many: the bracket behind its last `}`.
// As many brackets open as close before that; otherwise it is a list in the element's arguments, and the text is cut.
std::size_t end_of_list(std::string_view text) {
  std::size_t depth = 0;
  char before = '\0';  // the last character that is no white space
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (kSpace.find(c) != kNowhere) continue;
    if (c == ']' && before == '}' && depth == 0) {
      const std::string_view rest = text.substr(skip_space(text, at + 1));
      if (rest.starts_with('}') || rest.starts_with(',')) return at;
    }
    if (c == '{') ++depth;
    if (c == '}' && depth > 0) --depth;
    before = c;
  }
  return kNowhere;
}

}  // namespace

bool EventList::more() {
  if (!text_.more()) return false;
  limit_ = kNowhere;
  return true;
}

bool EventList::read() {
  constexpr std::size_t kPhaseKey = 64;  // bytes that hold an object's first key
  while (text_.rest().size() < kPhaseKey && more()) continue;
  const std::string_view front = text_.rest();
  phase_first_ = begins_with_phase(front.substr(skip_space(front, 0)));
  bool closed = false;  // a bracket was seen, and no event since
  for (;;) {
    text_.consume(std::min(text_.rest().find_first_not_of(kSeparators), text_.rest().size()));
    const std::string_view text = text_.rest();
    if (text.empty()) {
      if (!more()) return closed;
      continue;
    }
    const std::size_t seen = reader_.seen();
    if (text.front() == ']') {
      const Bracket found = bracket();
      if (found == Bracket::closes) end_ = text_.consumed();
      text_.consume(1);
      if (found == Bracket::closes) return true;
      closed = true;
      if (!read_until(text_.consumed() + kPart)) return closed && reader_.seen() == seen;
    } else if (const std::size_t cut = last_boundary(text.substr(0, limit_)); cut == kNowhere) {
      if (limit_ >= text.size() && more()) continue;
      if (limit_ < kPart) {
        limit_ *= 2;  // one element is longer than that
        continue;
      }
      if (!read_until(text_.consumed() + std::min(limit_, text_.rest().size()))) return closed && reader_.seen() == seen;
    } else {
      const std::size_t end = text_.consumed() + cut;
      const Parsed parsed = parse(cut);
      if (parsed == Parsed::nothing && limit_ == kNowhere && cut > kPart) {
        limit_ = kPart;
        continue;
      }
      // The next part is as long as twice what this one gave, so that what is parsed in vain stays in proportion.
      const std::size_t given = text_.consumed() - (end - cut);
      if (parsed == Parsed::until_fault) limit_ = std::clamp(2 * given, kLeastPart, kPart);
      if (parsed == Parsed::whole && limit_ < kPart) limit_ *= 2;
      if (parsed == Parsed::until_fault && !read_one()) return closed && reader_.seen() == seen;
      if (parsed == Parsed::nothing && !read_until(end)) return closed && reader_.seen() == seen;
    }
    if (reader_.seen() > seen) closed = false;
  }
}

// Reads single elements up to `end`, or to a bracket where the list may end. False where the text ends before an element does.
bool EventList::read_until(std::size_t end) {
  while (text_.consumed() < end) {
    if (!read_one()) return false;
    text_.consume(std::min(text_.rest().find_first_not_of(kSeparators), text_.rest().size()));
    if (text_.rest().starts_with(']')) break;
  }
  return true;
}

// Parses the elements before the comma at `cut` and consumes what was read. The text becomes a list for that time: a bracket before it
// and one in place of the comma.
EventList::Parsed EventList::parse(std::size_t cut) {
  char* front = text_.data() - 1;
  front[0] = '[';
  front[cut + 1] = ']';
  const auto finish = [&](std::size_t consumed, Parsed parsed) {
    front[cut + 1] = ',';
    text_.consume(consumed);
    return parsed;
  };
  ondemand::document document;
  ondemand::array list;
  // Windows differ a little in length: room for the longest at once, not for each that is longer than those before.
  if (many_.capacity() < cut + 2 && many_.allocate(std::bit_ceil(cut + 2))) return finish(0, Parsed::nothing);
  if (many_.iterate(simdjson::padded_string_view(front, cut + 2, text_.capacity() + 1)).get(document)) return finish(0, Parsed::nothing);
  if (document.get_array().get(list)) return finish(0, Parsed::nothing);
  std::size_t at = 0;  // of the last element
  bool taken = false;  // it was read
  const auto fault = [&] {
    std::size_t end = taken ? end_of_value(text_.rest(), at) : at;
    // Read although its brackets do not match (what is of no use is not looked at): it must not be read again.
    if (end == kNowhere) end = next_event(text_.rest(), at + 1, phase_first_);
    return finish(std::min(end, cut + 1), Parsed::until_fault);
  };
  for (auto element : list) {
    ondemand::value value;
    ondemand::object object;
    if (std::move(element).get(value)) return fault();
    at = static_cast<std::size_t>(value.raw_json_token().data() - front - 1);
    taken = false;
    if (value.get_object().get(object)) {
      reader_.skip();
    } else if (reader_.read(object)) {
      return fault();
    }
    taken = true;
  }
  const char* behind = nullptr;
  if (document.current_location().get(behind)) return finish(cut + 1, Parsed::whole);
  // The list ended before the cut: what was taken for a boundary stands in what follows it.
  const std::size_t bracket = text_.rest().rfind(']', static_cast<std::size_t>(behind - front - 2));
  return finish(bracket, Parsed::whole);
}

EventList::Bracket EventList::bracket() {
  for (;;) {
    const std::string_view text = text_.rest();
    const std::size_t next = skip_space(text, 1);
    const std::size_t after = next < text.size() && text[next] == ',' ? skip_space(text, next + 1) : next;
    if (after < text.size()) {
      const bool closes = after == next ? text[next] == '}' : text[after] == '"';
      return closes ? Bracket::closes : Bracket::stray;
    }
    if (!more()) return Bracket::closes;
  }
}

bool EventList::keep(std::string_view piece) {
  ondemand::document document;
  ondemand::object object;
  const auto behind = static_cast<std::size_t>(piece.data() - text_.data());
  if (one_.iterate(simdjson::padded_string_view(piece.data(), piece.size(), text_.capacity() - behind)).get(document)) return false;
  return !document.get_object().get(object) && !reader_.read(object);
}

void EventList::keep_or_count(std::string_view piece) {
  if (keep(piece)) return;
  const simdjson::padded_string event(repaired(piece));
  ondemand::document document;
  ondemand::object object;
  if (!one_.iterate(event).get(document) && !document.get_object().get(object) && !reader_.read(object)) {
    issues_.add("repaired-event", "an event in the trace is not valid JSON; it was repaired and kept" + place());
    return;
  }
  issues_.add("broken-event", "an event in the trace is damaged and was left out" + place());
  reader_.skip();
}

// Where the element at the front stands.
std::string EventList::place() const {
  return " (first: event " + std::to_string(reader_.seen()) + ", byte " + std::to_string(text_.consumed()) + ")";
}

// How far to look for the end of the element at the front.
std::size_t EventList::patience() const {
  constexpr std::size_t kAtLeast = std::size_t{1} << 20;
  const std::size_t budget = kPatience * std::max(text_.total(), kAtLeast);
  return looked_ < budget ? kNowhere : kGlance;
}

// Reads the element at the front, whatever is wrong with it, and consumes it. False where the text ends before the element does.
bool EventList::read_one() {
  const std::size_t open = text_.rest().find_first_of("{]");
  text_.consume(std::min(open, text_.rest().size()));
  if (open == kNowhere) return more();
  if (text_.rest().front() == ']') return true;
  std::size_t next = kNowhere;  // start of the event after this one
  std::size_t end = kNowhere;
  for (std::size_t horizon = kGlance;; horizon *= 2) {
    if (horizon > patience()) return skip_near();
    while (text_.rest().size() < horizon && more()) continue;  // what is seen must not depend on where a window ends
    const std::string_view text = text_.rest().substr(0, horizon);
    looked_ += text.size();
    next = next_event(text, 1, phase_first_);
    end = end_of_brackets(text.substr(0, next), 0);
    if (end != kNowhere || next != kNowhere) break;
    if (text.size() == horizon) continue;
    next = end_of_list(text_.rest());
    if (next == kNowhere) return false;
    break;
  }
  const std::string_view text = text_.rest();
  // An object that reaches into the next event lacks a bracket or a quote, or has one too many.
  const bool overran = end == kNowhere;
  if (overran) end = text.find_last_of('}', next) + 1;
  keep_or_count(text.substr(0, end));
  text_.consume(overran ? next : end);
  return true;
}

// Leaves out the element at the front without knowing its end: reading goes on at the next bracket that may begin another.
bool EventList::skip_near() {
  issues_.add("broken-event", "an event in the trace is damaged and was left out" + place());
  reader_.skip();
  text_.consume(std::min(text_.rest().find_first_of("{]", 1), text_.rest().size()));
  return !text_.rest().empty() || more();
}

}  // namespace hotlens::trace
