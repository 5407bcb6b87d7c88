#include "annotator/attribution/map_step/twins.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

namespace hotlens::attribution {
namespace {

// Pairs of pairs multiply; it bounds the work on a hostile file.
constexpr std::size_t kMostPairs = 5'000'000;

// Every part of a clean step is compared with each of the map step.
constexpr std::size_t kMostParts = 256;

// Elements [clean, clean_end) may be the twins of [map, map_end).
struct Range {
  std::uint32_t clean = 0, clean_end = 0, map = 0, map_end = 0;
};

class Pairing {
 public:
  Pairing(const Program& clean, const Program& map, const Owners& owners) : clean_(clean), map_(map), owners_(owners) {
    result_.extra.assign(clean.nodes.size(), false);
  }

  Alignment run() && {
    open_.push_back({0, static_cast<std::uint32_t>(clean_.nodes.size()), 0, static_cast<std::uint32_t>(map_.nodes.size())});
    while (!open_.empty() && pairs_ < kMostPairs) {
      const Range range = open_.back();
      open_.pop_back();
      if (range.clean == range.clean_end) continue;
      if (same(range)) {
        add({range.clean, range.map, range.clean_end - range.clean});
      } else {
        pair_outermost(range);
      }
    }
    return std::move(result_);
  }

 private:
  bool same(const Range& range) const {
    const auto words = [](const Program& program, std::uint32_t from, std::uint32_t to) {
      return std::span(program.words).subspan(from, to - from);
    };
    return std::ranges::equal(words(clean_, range.clean, range.clean_end), words(map_, range.map, range.map_end));
  }

  static std::vector<std::uint32_t> outermost(const Program& program, std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t> elements;
    for (; from < to; from = program.after[from]) elements.push_back(from);
    return elements;
  }

  void pair_outermost(const Range& range) {
    const std::vector<std::uint32_t> clean = outermost(clean_, range.clean, range.clean_end);
    const std::vector<std::uint32_t> map = outermost(map_, range.map, range.map_end);
    std::vector<std::uint32_t> words;
    for (const std::uint32_t element : clean) words.push_back(clean_.words[element]);
    const Alignment found = align(words, sequence_of(map));
    if (found.runs.empty()) return pair_parts(clean, map) ? void() : pair_beginning(clean, map);
    for (const TwinRun& run : found.runs) {
      for (std::uint32_t i = 0; i < run.length; ++i) pair(clean[run.clean + i], map[run.map + i]);
    }
    for (std::size_t i = 0; i < clean.size(); ++i) {
      if (found.extra[i]) result_.extra[clean[i]] = true;
    }
  }

  using Part = std::span<const std::uint32_t>;

  void pair_beginning(Part clean, Part map) {
    const auto differ =
        std::ranges::mismatch(clean, map, [&](std::uint32_t a, std::uint32_t b) { return clean_.words[a] == map_.words[b]; });
    const auto alike = static_cast<std::size_t>(differ.in1 - clean.begin());
    for (std::size_t i = 0; i < alike; ++i) pair(clean[i], map[i]);
    for (const std::uint32_t element : clean.subspan(alike)) result_.extra[element] = true;
  }

  // Cuts both before each element of one word. False where none stands in both more than once.
  bool pair_parts(const std::vector<std::uint32_t>& clean, const std::vector<std::uint32_t>& map) {
    const std::optional<std::uint32_t> landmark = landmark_of(clean, map);
    if (!landmark) return false;
    const std::vector<Part> parts = cut(clean_, clean, *landmark), others = cut(map_, map, *landmark);
    const auto range_of = [&](Part part, Part other) {
      return Range{part.front(), clean_.after[part.back()], other.front(), map_.after[other.back()]};
    };
    if (!parts.front().empty() && !others.front().empty()) {
      open_.push_back(range_of(parts.front(), others.front()));
    } else {
      for (const std::uint32_t element : parts.front()) result_.extra[element] = true;
    }
    for (std::size_t at = 1; at < parts.size(); ++at) open_.push_back(range_of(parts[at], most_like(parts[at], at, others)));
    return true;
  }

  // The word that repeats in both, in the map step most seldom; of several the first one there.
  std::optional<std::uint32_t> landmark_of(Part clean, Part map) const {
    std::unordered_map<std::uint32_t, std::size_t> in_clean, in_map;
    for (const std::uint32_t element : clean) ++in_clean[clean_.words[element]];
    for (const std::uint32_t element : map) ++in_map[map_.words[element]];
    std::optional<std::uint32_t> found;
    for (const std::uint32_t element : map) {
      const std::uint32_t word = map_.words[element];
      const auto clean_too = in_clean.find(word);
      if (in_map[word] < 2 || in_map[word] > kMostParts || clean_too == in_clean.end() || clean_too->second < 2) continue;
      if (!found || in_map[word] < in_map[*found]) found = word;
    }
    return found;
  }

  // What stands before the first, which may be nothing, then from each on.
  static std::vector<Part> cut(const Program& program, Part elements, std::uint32_t landmark) {
    std::vector<Part> parts;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < elements.size(); ++at) {
      if (program.words[elements[at]] != landmark) continue;
      parts.push_back(elements.subspan(begin, at - begin));
      begin = at;
    }
    parts.push_back(elements.subspan(begin));
    return parts;
  }

  // By its own words, else by its length; of several the nearest. `at`: its number among its own.
  Part most_like(Part part, std::size_t at, const std::vector<Part>& others) const {
    using Unlike = std::tuple<bool, std::size_t, std::size_t>;
    const auto distance = [](std::size_t a, std::size_t b) { return std::max(a, b) - std::min(a, b); };
    const auto is_other = [&](Part other) {
      return !std::ranges::equal(part, other, [&](std::uint32_t a, std::uint32_t b) { return clean_.words[a] == map_.words[b]; });
    };
    std::optional<Unlike> least;
    std::size_t best = 1;
    for (std::size_t other = 1; other < others.size(); ++other) {
      const std::size_t length = distance(part.size(), others[other].size());
      const Unlike unlike{length > 0 || is_other(others[other]), length, distance(at, other)};
      if (least && *least <= unlike) continue;
      least = unlike;
      best = other;
    }
    return others[best];
  }

  void pair(std::uint32_t clean, std::uint32_t map) {
    add({clean, map, 1});
    open_.push_back({clean + 1, clean_.after[clean], map + 1, map_.after[map]});
  }

  void add(const TwinRun& run) {
    pairs_ += run.length;
    result_.runs.push_back(run);
  }

  MapSequence sequence_of(const std::vector<std::uint32_t>& elements) const {
    const auto call = [&](std::size_t i) { return owners_.of[map_.nodes[elements[i]]].call; };
    const auto is_inside = [&](std::size_t of, std::size_t beside) { return owners_.calls.common(call(beside), call(of)) == call(of); };
    const std::vector<bool> begins = statements_of(elements);
    MapSequence sequence;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::size_t next = i + 1;
      const bool ends = next == elements.size() || begins[next];
      sequence.words.push_back(map_.words[elements[i]]);
      sequence.opens.push_back(begins[i] ? Bound::statement : is_inside(i, i - 1) ? Bound::inside : Bound::call);
      sequence.closes.push_back(ends ? Bound::statement : is_inside(i, next) ? Bound::inside : Bound::call);
    }
    return sequence;
  }

  // By element: a statement begins with it, of the outermost ones that the elements are of, as far as their lines are known.
  std::vector<bool> statements_of(const std::vector<std::uint32_t>& elements) const {
    const Chains& lines = owners_.lines;
    const auto line = [&](std::size_t i) { return owners_.of[map_.nodes[elements[i]]].line; };
    std::vector<std::optional<std::uint32_t>> shared(elements.size());  // with the one before it: so many lines lead to both
    std::uint32_t least = kNothing;
    for (std::size_t i = 1; i < elements.size(); ++i) {
      if (line(i - 1) == kNothing || line(i) == kNothing) continue;
      const std::uint32_t common = line(i - 1) == line(i) ? line(i) : lines.common(line(i - 1), line(i));
      shared[i] = common == kNothing ? 0 : lines.depth[common] + 1;
      least = std::min(least, *shared[i]);
    }
    std::vector<bool> begins(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      begins[i] = i == 0 || (shared[i] ? *shared[i] == least && line(i - 1) != line(i) : line(i - 1) != line(i));
    }
    return begins;
  }

  const Program& clean_;
  const Program& map_;
  const Owners& owners_;
  std::vector<Range> open_;
  std::size_t pairs_ = 0;
  Alignment result_;
};

}  // namespace

Alignment twins(const Program& clean, const Program& map, const Owners& owners) {
  return Pairing(clean, map, owners).run();
}

}  // namespace hotlens::attribution
