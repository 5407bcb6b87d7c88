#include "annotator/attribution/map_step/twins.h"

#include <algorithm>

namespace hotlens::attribution {
namespace {

// Pairs of pairs multiply; it bounds the work on a hostile file.
constexpr std::size_t kMostPairs = 5'000'000;

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
    for (const TwinRun& run : found.runs) {
      for (std::uint32_t i = 0; i < run.length; ++i) pair(clean[run.clean + i], map[run.map + i]);
    }
    for (std::size_t i = 0; i < clean.size(); ++i) {
      if (found.extra[i]) result_.extra[clean[i]] = true;
    }
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
    MapSequence sequence;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      sequence.words.push_back(map_.words[elements[i]]);
      sequence.opens.push_back(i == 0 || owners_.calls.common(call(i - 1), call(i)) != call(i));
      sequence.closes.push_back(i + 1 == elements.size() || owners_.calls.common(call(i), call(i + 1)) != call(i));
    }
    return sequence;
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
