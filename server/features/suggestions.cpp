#include "server/features/suggestions.h"

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "server/features/format.h"

namespace hotlens::features {
namespace {

constexpr std::size_t kLongest = 300;  // characters; a list of layers has no end

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

}  // namespace

std::string message(const advice::Suggestion& suggestion) {
  const lab::WhatIf& change = suggestion.change;
  std::string words = change.title;
  if (change.time) words += ": " + lab::spelled(*change.time);
  if (change.time && change.step_was > Ns{})
    words += fmt::format(", {} → {}", format::readable(change.step_was), format::readable(change.step));
  return words;
}

std::string explained(const advice::Suggestion& suggestion, bool markdown) {
  const auto safe = [&](const std::vector<std::string>& texts) {
    return markdown ? escape_markdown(joined(texts), kLongest) : plain(joined(texts), kLongest);
  };
  const std::string title = message(suggestion);
  return fmt::format("{}\nNow: {}.{}\nPredicted by a replay; assumes that {}.",
                     markdown ? "**" + escape_markdown(title, kLongest) + "**  " : title, safe(suggestion.change.evidence),
                     markdown ? "  " : "", safe(suggestion.change.assumes));
}

}  // namespace hotlens::features
