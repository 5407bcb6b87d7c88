#include "annotator/report/diff.h"

#include <unistd.h>

#include <charconv>
#include <iostream>

#include "annotator/common/format.h"
#include "annotator/ranks/read.h"
#include "annotator/report/ranks.h"
#include "server/cli/verbs.h"

namespace hotlens::cli {
namespace {

Result<report::Side> open_side(const std::string& reference, std::optional<std::int64_t> rank) {
  const auto sources = ranks::sources(std::vector{reference}, std::filesystem::current_path());
  if (!sources) return std::unexpected(sources.error());
  const auto one = ranks::one_of(*sources, rank);
  if (!one) return std::unexpected(one.error());
  Result<report::Side> side = report::read_side(one->path, one->rank);
  if (!side || sources->size() < 2) return side;
  Result<ranks::Ranks> all = ranks::read(*sources);
  if (!all) return std::unexpected(all.error());
  side->ranks = std::move(all->set);
  return side;
}

// "5%" and "5" are five percent.
Result<double> share(std::string_view text) {
  const std::string_view whole = text;
  if (text.ends_with('%')) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e6) {
    return std::unexpected(Error{ErrorCode::usage, "--fail-over takes a percentage such as 5%, not " + std::string(whole), {}});
  }
  return value / 100;
}

void explain(const report::Gate& gate) {
  const std::string limit = std::to_string(gate.threshold * 100).substr(0, 4) + " %";
  for (const std::string& name : gate.unknown_noise) {
    std::cerr << "hotlens: " << format::harmless(name) << " has a single step on one side, so its noise is not known; record more steps\n";
  }
  for (const std::string& name : gate.crossed) {
    std::cerr << "hotlens: " << format::harmless(name) << " got slower by more than " << limit << '\n';
  }
}

}  // namespace

int diff(const DiffOptions& options) {
  std::optional<double> threshold;
  if (!options.fail_over.empty()) {
    const Result<double> parsed = share(options.fail_over);
    if (!parsed) return fail(parsed.error());
    threshold = *parsed;
  }
  const Result<report::Side> before = open_side(options.before, options.rank);
  if (!before) return fail(before.error());
  const Result<report::Side> after = open_side(options.after, options.rank);
  if (!after) return fail(after.error());

  const report::Diff found = report::diff(*before, *after);
  std::optional<report::Gate> gate;
  if (threshold) gate = report::gate(found, *threshold, options.module);
  if (options.format == OutputFormat::json) {
    std::cout << report::diff_json(found, *before, *after, gate) << '\n';
  } else {
    std::cout << report::diff_text(found, *before, *after, use_colour(STDOUT_FILENO));
    std::cout << report::ranks_diff_text(before->ranks, after->ranks);
  }
  if (!gate) return kDone;
  if (gate->compared == 0) {
    return fail({ErrorCode::usage, "no module of either profile matches " + options.module + "; see `hotlens report` for their paths", {}});
  }
  explain(*gate);
  return gate->crossed.empty() ? kDone : kThresholdCrossed;
}

}  // namespace hotlens::cli
