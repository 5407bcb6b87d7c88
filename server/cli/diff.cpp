#include "annotator/report/diff.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <iostream>

#include "annotator/common/format.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/ranks/read.h"
#include "annotator/report/ranks.h"
#include "server/cli/verbs.h"

namespace hotlens::cli {
namespace {

constexpr std::size_t kFewRuns = 3;

Result<report::Side> open_run(const std::string& reference, std::optional<std::int64_t> rank) {
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

// A folder of bundles, as `hotlens run --repeat 3 --out FOLDER` leaves it, is those runs; all else is one.
std::vector<std::string> runs_of(const std::string& reference) {
  std::vector<std::string> runs;
  for (const auto& bundle : profile::bundles_in(std::filesystem::current_path() / reference)) runs.push_back(bundle.string());
  if (runs.empty()) runs.push_back(reference);
  return runs;
}

// The first is the one to show.
Result<std::vector<report::Side>> open_side(const std::vector<std::string>& references, std::optional<std::int64_t> rank) {
  std::vector<report::Side> side;
  for (const std::string& reference : references) {
    for (const std::string& run : runs_of(reference)) {
      Result<report::Side> read = open_run(run, rank);
      if (!read) return std::unexpected(read.error());
      side.push_back(std::move(*read));
    }
  }
  report::typical_first(side);
  return side;
}

struct Sides {
  std::vector<std::string> before, after;
};

Result<Sides> sides_of(const DiffOptions& options) {
  if (!options.baselines.empty()) return Sides{options.baselines, options.profiles};
  if (options.profiles.size() == 2) return Sides{{options.profiles.front()}, {options.profiles.back()}};
  const char* wanted = options.profiles.size() < 2
                           ? "name two profiles, the old one and the new one: hotlens diff OLD NEW"
                           : "of more than two profiles say which are old: hotlens diff --baseline OLD --baseline OLD NEW…";
  return std::unexpected(Error{ErrorCode::usage, wanted, {}});
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

std::string percents(double share) {
  return fmt::format("{:.3g} %", share * 100);
}

// Where a slowdown over the threshold may hide in the noise, and what to do.
void explain_noise(const report::Gate& gate, const report::Diff& found) {
  if (gate.noisier.empty() || !gate.crossed.empty()) return;
  const std::string what = gate.modules.empty() ? "the step" : format::counted(std::ssize(gate.noisier), "module", "modules");
  const std::size_t runs = std::min(found.before_runs.size(), found.after_runs.size());
  std::cerr << "hotlens: the noise between runs is up to ±" << percents(gate.noise) << " of " << what << ", more than "
            << percents(gate.threshold) << ": a smaller slowdown crosses nothing. "
            << (runs < kFewRuns ? "Record several runs of each side: hotlens run --repeat 3" : "Record more runs, or where less else runs")
            << '\n';
}

void explain(const report::Gate& gate, const report::Diff& found) {
  for (const std::string& name : gate.unknown_noise) {
    std::cerr << "hotlens: " << format::harmless(name) << " has a single step on one side, so its noise is not known; record more steps\n";
  }
  for (const std::string& name : gate.crossed) {
    std::cerr << "hotlens: " << format::harmless(name) << " got slower by more than " << percents(gate.threshold) << '\n';
  }
  explain_noise(gate, found);
}

}  // namespace

int diff(const DiffOptions& options) {
  std::optional<double> threshold;
  if (!options.fail_over.empty()) {
    const Result<double> parsed = share(options.fail_over);
    if (!parsed) return fail(parsed.error());
    threshold = *parsed;
  }
  const Result<Sides> named = sides_of(options);
  if (!named) return fail(named.error());
  const Result<std::vector<report::Side>> old_runs = open_side(named->before, options.rank);
  if (!old_runs) return fail(old_runs.error());
  const Result<std::vector<report::Side>> new_runs = open_side(named->after, options.rank);
  if (!new_runs) return fail(new_runs.error());

  const report::Diff found = report::diff(*old_runs, *new_runs);
  const report::Side &before = old_runs->front(), &after = new_runs->front();
  std::optional<report::Gate> gate;
  if (threshold) gate = report::gate(found, *threshold, options.module);
  if (options.format == OutputFormat::json) {
    std::cout << report::diff_json(found, before, after, gate) << '\n';
  } else {
    std::cout << report::diff_text(found, before, after, use_colour(STDOUT_FILENO));
    std::cout << report::ranks_diff_text(before.ranks, after.ranks);
  }
  if (!gate) return kDone;
  if (gate->compared == 0) {
    return fail({ErrorCode::usage, "no module of either profile matches " + options.module + "; see `hotlens report` for their paths", {}});
  }
  explain(*gate, found);
  return gate->crossed.empty() ? kDone : kThresholdCrossed;
}

}  // namespace hotlens::cli
