#include "annotator/source/match/similarity.h"

#include <algorithm>

#include "annotator/source/outline/normal_form.h"

namespace hotlens::source {
namespace {

// Below this share of common tokens two statements are two statements; `a = f(b)` and `c = g(d)` share four tokens of seven.
constexpr double kAlike = 0.6;
// What an equal beginning is worth: `self.conv1 = …` stays conv1's statement whatever follows.
constexpr double kBeginning = 0.5;
// Cells of the alignment table, some 4 ms of work.
constexpr std::size_t kLargestTable = 40'000;

double likeness(const Sketch& a, const Sketch& b) {
  auto differs = std::ranges::mismatch(a.ordered, b.ordered);
  auto common = static_cast<double>(differs.in1 - a.ordered.begin());
  auto longest = static_cast<double>(std::max<std::size_t>({a.ordered.size(), b.ordered.size(), 1}));
  return dice(a.sorted, b.sorted) + kBeginning * common / longest;
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Pairs pair_by_index(std::span<const Sketch> a, std::span<const Sketch> b) {
  Pairs pairs;
  for (std::uint32_t i = 0; a.size() == b.size() && i < a.size(); ++i) {
    if (likeness(a[i], b[i]) >= kAlike) pairs.emplace_back(i, i);
  }
  return pairs;
}

}  // namespace

double dice(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  if (a.empty() && b.empty()) return 1;
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      ++common, ++i, ++j;
    } else if (a[i] < b[j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return 2.0 * static_cast<double>(common) / static_cast<double>(a.size() + b.size());
}

Sketch sketch(std::string_view text, const Statement& statement) {
  Sketch made;
  for (const NormalToken& token : normal_form(text, tokens_between(text, statement.begin, statement.end)))
    made.ordered.push_back(token.hash);
  made.sorted = made.ordered;
  std::ranges::sort(made.sorted);
  return made;
}

Pairs pair_alike(std::span<const Sketch> a, std::span<const Sketch> b) {
  if (a.empty() || b.empty()) return {};
  if (a.size() * b.size() > kLargestTable) return pair_by_index(a, b);
  std::size_t width = b.size() + 1;
  std::vector<double> like((a.size() + 1) * width, 0), best((a.size() + 1) * width, 0);  // best of the suffixes from i and j
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      double score = likeness(a[i], b[j]);
      like[i * width + j] = score >= kAlike ? score : 0;
      best[i * width + j] =
          std::max({best[(i + 1) * width + j], best[i * width + j + 1], best[(i + 1) * width + j + 1] + like[i * width + j]});
    }
  }
  Pairs pairs;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    double here = best[i * width + j];
    if (like[i * width + j] > 0 && here == best[(i + 1) * width + j + 1] + like[i * width + j]) {
      pairs.emplace_back(static_cast<std::uint32_t>(i++), static_cast<std::uint32_t>(j++));
    } else if (here == best[(i + 1) * width + j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

}  // namespace hotlens::source
