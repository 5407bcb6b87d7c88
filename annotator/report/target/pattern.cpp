#include "annotator/report/target/pattern.h"

#include <string>

namespace hotlens::target {
namespace {

using Bytes256 = std::bitset<256>;

std::uint8_t byte(char c) {
  return static_cast<std::uint8_t>(c);
}

Bytes256 range(char first, char last) {
  Bytes256 set;
  for (unsigned at = byte(first); at <= byte(last); ++at) set.set(at);
  return set;
}

Bytes256 one(char c) {
  return range(c, c);
}

// What `\d` and its like stand for; nullopt of every other letter.
std::optional<Bytes256> named(char letter) {
  const Bytes256 digits = range('0', '9'), blanks = one(' ') | range('\t', '\r');
  const Bytes256 words = digits | range('a', 'z') | range('A', 'Z') | one('_');
  switch (letter) {
    case 'd':
      return digits;
    case 'D':
      return ~digits;
    case 's':
      return blanks;
    case 'S':
      return ~blanks;
    case 'w':
      return words;
    case 'W':
      return ~words;
    case 't':
      return one('\t');
    default:
      return std::nullopt;
  }
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

// Writes the steps of the pattern as it reads it. A piece is a range of steps whose loose end is the step behind it.
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  Result<Pattern> read() {
    if (text_.empty() || text_.size() > kMostPattern) return wrong("a pattern has 1 to " + std::to_string(kMostPattern) + " characters");
    alternatives();
    if (error_.empty() && at_ < text_.size()) error_ = "`)` closes nothing";
    if (!error_.empty()) return wrong(error_ + ", at character " + std::to_string(at_ + 1));
    add({.does = Pattern::Does::accept, .taken = {}});
    made_.groups_ = groups_;
    return std::move(made_);
  }

 private:
  using Does = Pattern::Does;
  using Step = Pattern::Step;

  static std::unexpected<Error> wrong(const std::string& what) {
    return std::unexpected(Error{ErrorCode::usage, "--loss-pattern: " + what, {}});
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(made_.steps_.size()); }
  std::uint32_t add(Step step) {
    step.next = step.next == Pattern::kBehind ? here() + 1 : step.next;
    made_.steps_.push_back(step);
    return here() - 1;
  }
  bool more() const { return error_.empty() && at_ < text_.size(); }
  bool next_is(char c) const { return more() && text_[at_] == c; }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  // Puts a step before those from `begin` on, whose targets move with them.
  void insert(std::uint32_t begin, Step step) {
    for (std::uint32_t at = begin; at < here(); ++at) {
      ++made_.steps_[at].next;
      if (made_.steps_[at].does == Does::split) ++made_.steps_[at].other;
    }
    made_.steps_.insert(made_.steps_.begin() + begin, step);
  }

  void alternatives() {
    if (++depth_ > 20) return fail("brackets are nested too deep");
    std::vector<std::uint32_t> ends;  // of alternatives but the last: jumps to what follows
    std::uint32_t begin = here();
    sequence();
    while (next_is('|')) {
      ++at_;
      insert(begin, {.does = Does::split, .next = begin + 1, .other = here() + 2, .taken = {}});
      ends.push_back(add({.does = Does::jump, .taken = {}}));
      begin = here();
      sequence();
    }
    for (const std::uint32_t end : ends) made_.steps_[end].next = here();
    --depth_;
  }

  void sequence() {
    while (more() && text_[at_] != '|' && text_[at_] != ')') repeated();
  }

  void repeated() {
    const std::uint32_t begin = here();
    piece();
    if (!more()) return;
    const char how = text_[at_];
    if (how == '{') return fail("`{n,m}` is not understood; use `*`, `+` or `?`");
    if (how != '*' && how != '+' && how != '?') return;
    ++at_;
    if (next_is('*') || next_is('+') || next_is('?')) return fail("only one of `*`, `+` and `?` may follow");
    if (how == '+') {
      add({.does = Does::split, .next = begin, .other = here() + 1, .taken = {}});
      return;
    }
    insert(begin, {.does = Does::split, .next = begin + 1, .other = here() + (how == '*' ? 2 : 1), .taken = {}});
    if (how == '*') add({.does = Does::jump, .next = begin, .taken = {}});
  }

  void piece() {
    const char c = text_[at_++];
    switch (c) {
      case '(':
        return group();
      case '[':
        return take(set());
      case '.':
        return take(~one('\n'));
      case '^':
        add({.does = Does::begin, .taken = {}});
        return;
      case '$':
        add({.does = Does::end, .taken = {}});
        return;
      case '\\':
        return take(escaped());
      case '*':
      case '+':
      case '?':
        return fail("nothing stands before `" + std::string(1, c) + "`");
      default:
        take(one(c));
    }
  }

  void take(const Bytes256& taken) { add({.does = Does::take, .taken = taken}); }

  void group() {
    bool counts = true;
    if (next_is('?')) {
      if (!text_.substr(at_).starts_with("?:")) return fail("of groups with `?` only `(?: )` is understood");
      at_ += 2;
      counts = false;
    }
    const auto number = static_cast<std::uint32_t>(groups_);
    if (counts && ++groups_ > kMostGroups) return fail("there may be two groups: the step and the value");
    if (counts) add({.does = Does::save, .other = 2 * number, .taken = {}});
    alternatives();
    if (!next_is(')')) return fail("`(` is not closed");
    ++at_;
    if (counts) add({.does = Does::save, .other = 2 * number + 1, .taken = {}});
  }

  Bytes256 escaped() {
    if (at_ >= text_.size()) {
      fail("nothing stands behind `\\`");
      return {};
    }
    const char letter = text_[at_++];
    if (const auto set = named(letter)) return *set;
    if (is_letter(letter)) fail(std::string("`\\") + letter + "` is not understood");
    return one(letter);
  }

  Bytes256 set() {
    Bytes256 found;
    const bool other = next_is('^');
    if (other) ++at_;
    bool first = true;
    while (more() && (text_[at_] != ']' || first)) {
      first = false;
      const char from = text_[at_++];
      if (from == '\\') {
        found |= escaped();
      } else if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        if (byte(text_[at_ + 1]) < byte(from)) fail("a range in `[ ]` is the wrong way round");
        found |= range(from, text_[at_ + 1]);
        at_ += 2;
      } else {
        found |= one(from);
      }
    }
    if (!next_is(']')) fail("`[` is not closed");
    ++at_;
    return other ? ~found : found;
  }

  std::string_view text_;
  std::size_t at_ = 0, groups_ = 0, depth_ = 0;
  std::string error_;
  Pattern made_;
};

Result<Pattern> Pattern::parse(std::string_view text) {
  return PatternReader(text).read();
}

std::optional<std::array<std::string_view, kMostGroups>> Pattern::match(std::string_view line) const {
  constexpr std::size_t kUnset = static_cast<std::size_t>(-1);
  using Saved = std::array<std::size_t, 2 * kMostGroups>;
  struct Thread {
    std::uint32_t step = 0;
    Saved saved{};
  };
  Saved none;
  none.fill(kUnset);
  std::vector<Thread> now, next, pending;
  std::vector<std::size_t> seen(steps_.size(), kUnset);  // at which character a step was last reached
  std::optional<Saved> found;
  const auto reach = [&](std::vector<Thread>& list, std::uint32_t step, const Saved& saved, std::size_t at) {
    pending.push_back({step, saved});
    while (!pending.empty()) {
      Thread thread = pending.back();
      pending.pop_back();
      if (seen[thread.step] == at) continue;
      seen[thread.step] = at;
      const Step& is = steps_[thread.step];
      switch (is.does) {
        case Does::take:
        case Does::accept:
          list.push_back(thread);
          break;
        case Does::split:
          pending.push_back({is.other, thread.saved});
          pending.push_back({is.next, thread.saved});
          break;
        case Does::save:
          thread.saved[is.other] = at;
          [[fallthrough]];
        case Does::jump:
          pending.push_back({is.next, thread.saved});
          break;
        case Does::begin:
          if (at == 0) pending.push_back({is.next, thread.saved});
          break;
        case Does::end:
          if (at == line.size()) pending.push_back({is.next, thread.saved});
          break;
      }
    }
  };
  for (std::size_t at = 0; at <= line.size(); ++at) {
    if (!found) reach(now, 0, none, at);
    if (now.empty()) break;
    next.clear();
    for (const Thread& thread : now) {
      const Step& is = steps_[thread.step];
      if (is.does == Does::accept) {
        found = thread.saved;
        break;  // what comes after is less preferred
      }
      if (at < line.size() && is.taken[static_cast<std::uint8_t>(line[at])]) reach(next, is.next, thread.saved, at + 1);
    }
    std::swap(now, next);
  }
  if (!found) return std::nullopt;
  std::array<std::string_view, kMostGroups> groups;
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    const std::size_t begin = (*found)[2 * group], end = (*found)[2 * group + 1];
    if (begin != kUnset && end != kUnset) groups[group] = line.substr(begin, end - begin);
  }
  return groups;
}

}  // namespace hotlens::target
