#include "annotator/advice/suggestion.h"

#include <algorithm>
#include <utility>

namespace hotlens::advice {
namespace {

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\f";
  const std::size_t begin = line.find_first_not_of(kBlank);
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
}

// Where lines that read so stand, without the blanks around them.
std::vector<source::Range> lines_that_read(std::string_view wanted, std::string_view text) {
  std::vector<source::Range> found;
  std::uint32_t number = 0;
  for (std::size_t at = 0; at <= text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view words = trimmed(text.substr(at, end - at));
    if (words == wanted) {
      const auto column = static_cast<std::uint32_t>(words.data() - (text.data() + at));
      found.push_back({{number, column}, {number, column + static_cast<std::uint32_t>(words.size())}});
    }
    at = end + 1;
  }
  return found;
}

std::optional<std::string_view> line_of(std::string_view text, std::uint32_t line) {
  for (; line > 0; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return trimmed(text.substr(0, text.find('\n')));
}

// Runs have shown that it is no gain.
bool is_verified_in_vain(const lab::WhatIf& change) {
  return change.verified && !change.verified->faster && (change.verified->slower || !frees_memory(change));
}

// Forms of one optimizer exclude each other.
bool excludes(const Suggestion& one, const Suggestion& other) {
  const auto of_optimizer = [](const Suggestion& item) {
    const lab::Kind* kind = lab::kind_named(item.change.kind);
    return kind != nullptr && kind->where == lab::Where::optimizer;
  };
  return of_optimizer(one) && of_optimizer(other) && one.file == other.file && one.at.first == other.at.first;
}

}  // namespace

std::optional<LineMark> mark_of(std::string_view text, std::uint32_t line) {
  const auto words = line_of(text, line);
  if (!words || words->empty()) return std::nullopt;
  const std::vector<source::Range> equal = lines_that_read(*words, text);
  const auto at = std::ranges::find(equal, line, [](const source::Range& range) { return range.begin.line; });
  return LineMark{.text = std::string(*words), .nth = static_cast<std::size_t>(at - equal.begin()), .of = equal.size(), .first = line};
}

std::optional<source::Range> range_now(const LineMark& mark, std::string_view text) {
  const std::vector<source::Range> equal = lines_that_read(mark.text, text);
  return equal.size() == mark.of ? std::optional(equal[mark.nth]) : std::nullopt;
}

bool only_runs_tell(const Suggestion& suggestion) {
  return suggestion.by_rule && !suggestion.at_best && !suggestion.change.time;
}

std::vector<Suggestion> with_instead(const Suggestion& suggestion) {
  std::vector<Suggestion> all{suggestion};
  for (const lab::WhatIf& change : suggestion.instead) {
    all.push_back({.change = change,
                   .bundle = suggestion.bundle,
                   .file = suggestion.file,
                   .at = suggestion.at,
                   .verification = suggestion.verification});
  }
  return all;
}

bool promises(const lab::Ratio& time) {
  return time.faster() && time.ratio <= 1 - kLeastGain;
}

bool lowers_peak(const lab::WhatIf& change) {
  const auto was = static_cast<double>(count(change.peak_was)), is = static_cast<double>(count(change.peak));
  return is > 0 && is <= was * (1 - kLeastFreed);
}

bool frees_memory(const lab::WhatIf& change) {
  return lowers_peak(change) && change.time && !change.time->slower() && change.time->ratio < 1 + kLeastGain;
}

double ratio_told(const Suggestion& suggestion) {
  const lab::WhatIf& change = suggestion.change;
  if (change.time) return change.time->ratio;
  return suggestion.at_best.value_or(change.verified ? change.verified->time.ratio : 1);
}

std::vector<Suggestion> worth_showing(std::vector<Suggestion> all) {
  std::ranges::stable_sort(all, {}, ratio_told);
  std::erase_if(all, [](const Suggestion& one) { return one.change.state == lab::State::silenced || is_verified_in_vain(one.change); });
  std::vector<Suggestion> best;
  for (Suggestion& one : all) {
    const bool excluded = std::ranges::any_of(best, [&](const Suggestion& other) { return excludes(one, other); });
    if (best.size() == kMostShown) break;
    const bool enough = one.change.time ? promises(*one.change.time) || frees_memory(one.change) : ratio_told(one) <= 1 - kLeastGain;
    if (!excluded && (enough || only_runs_tell(one))) best.push_back(std::move(one));
  }
  return best;
}

}  // namespace hotlens::advice
