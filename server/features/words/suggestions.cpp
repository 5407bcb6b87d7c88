#include "server/features/words/suggestions.h"

#include <fmt/format.h>

#include "annotator/advice/rules/text.h"
#include "annotator/common/format.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

constexpr std::size_t kLongestTitle = 300;  // characters; a list of layers has no end

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

// Nothing where the step is not known.
std::string steps(const lab::WhatIf& change) {
  if (change.step_was == Ns{}) return {};
  return fmt::format(", {} → {}", format::readable(change.step_was), format::readable(change.step));
}

std::string verified(const lab::WhatIf& change) {
  return change.verified ? "; verified " + lab::spelled(*change.verified) : std::string();
}

std::string_view carried_by(const advice::Suggestion& suggestion) {
  if (advice::only_runs_tell(suggestion)) return "Nothing is foretold; assumes that";
  if (suggestion.at_best) return "The step without this work, so the most that it gives, if";
  return suggestion.by_rule ? "Foretold from the recording; assumes that" : "Predicted by a replay; assumes that";
}

}  // namespace

std::string message(const advice::Suggestion& suggestion) {
  const lab::WhatIf& change = suggestion.change;
  if (advice::only_runs_tell(suggestion) && !change.verified) return fmt::format("{}: {}", change.title, rules::kOnlyRunsTell);
  if (!suggestion.at_best) return message(change);
  return change.title + ": at most " + rules::change_text(*suggestion.at_best) + steps(change) + verified(change);
}

std::string message(const lab::WhatIf& change) {
  std::string words = change.title;
  if (change.time) words += ": " + lab::spelled(*change.time) + steps(change);
  if (advice::lowers_peak(change))
    words += fmt::format(", memory {} → {}", format::readable(change.peak_was), format::readable(change.peak));
  return words + verified(change);
}

std::string checkpoint_lens(const lab::WhatIf& change) {
  const Bytes freed{count(change.peak_was) - count(change.peak)};
  if (change.kind != "checkpoint") {
    return fmt::format("peak {} is in the optimizer: checkpointing would not lower it; −{} for {}: {}", format::readable(change.peak_was),
                       format::readable(freed), lab::spelled(*change.time), change.title);
  }
  std::string what = plain(change.title, kLongestTitle);
  what.front() = 'c';
  return fmt::format("peak {}; −{} for {}: {}", format::readable(change.peak_was), format::readable(freed), lab::spelled(*change.time),
                     what);
}

std::string verify_title(const advice::Suggestion& suggestion) {
  std::string words = "Verify by running: " + suggestion.change.title;
  if (!suggestion.verification) return words;
  const auto [least, most] = *suggestion.verification;
  return words + fmt::format(" ({} to {})", format::readable(least), format::readable(most));
}

std::string explained(const advice::Suggestion& suggestion, bool markdown) {
  const auto safe = [&](const std::vector<std::string>& texts) {
    return markdown ? escape_markdown(joined(texts), kLongestTitle) : plain(joined(texts), kLongestTitle);
  };
  const std::string title = message(suggestion);
  const std::string_view new_line = markdown ? "  \n" : "\n";
  std::string words = fmt::format("{}{}Now: {}.{}{} {}.", markdown ? "**" + escape_markdown(title, kLongestTitle) + "**" : title, new_line,
                                  safe(suggestion.change.evidence), new_line, carried_by(suggestion), safe(suggestion.change.assumes));
  if (!suggestion.change.interval.empty()) words += fmt::format("{}Interval: {}.", new_line, safe({suggestion.change.interval}));
  if (!suggestion.change.verified) return words;
  const std::string_view losses = lab::losses_words(*suggestion.change.verified);
  words += fmt::format("{}Verified by running the script: {}{}{}.", new_line, lab::spelled(*suggestion.change.verified),
                       losses.empty() ? "" : "; ", losses);
  return words;
}

}  // namespace hotlens::features
