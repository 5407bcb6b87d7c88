#include "annotator/advice/seen.h"
#include "annotator/advice/sweep/sweep.h"
#include "annotator/advice/track_record.h"
#include "annotator/costs/launches.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/ranks/read.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/ranks.h"
#include "annotator/report/saved.h"
#include "annotator/report/text.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "annotator/common/harmless.h"
#include "annotator/profile/profile.h"
#include "server/cli/verbs.h"
#include "server/runs/device_rows.h"

namespace hotlens::cli {
namespace {

// Of the workspace that the profile is in.
int track_record(const ReportOptions& options) {
  const std::string profile = options.profiles.empty() ? "latest" : options.profiles.front();
  const auto path = profile::resolve(profile, std::filesystem::current_path());
  if (!path) return fail(path.error());
  // A profile may have been made without this program.
  if (std::filesystem::is_directory(*path)) {
    if (const auto seen = advice::take_up_seen(*path); !seen) return fail(seen.error());
  }
  const auto ledger = advice::read_ledger(advice::ledger_of(*path));
  if (!ledger) return fail(ledger.error());
  std::cout << (options.format == OutputFormat::json ? advice::as_json(*ledger) + '\n'
                                                     : advice::as_text(*ledger, use_colour(STDOUT_FILENO)));
  return kDone;
}

Result<int> saved_of(const profile::Profile& profile, const ReportOptions& options) {
  const Result<report::SavedAudit> audit = report::audit_saved(profile);
  if (!audit) return std::unexpected(audit.error());
  std::cout << (options.format == OutputFormat::json ? report::saved_json(profile, *audit) + '\n'
                                                     : report::saved_text(profile, *audit, use_colour(STDOUT_FILENO), options.unfold));
  return kDone;
}

// The launches of the step that is shown, and the kept measurement of its device.
report::Beside beside(const profile::Loaded& loaded) {
  const profile::Annotated& annotated = loaded.annotated;
  report::Beside found{
      .launches = costs::launches(annotated.trace, annotated.forest, annotated.account, loaded.shown), .peaks = {}, .device = {}};
  const profile::Device* device = report::working_device(*loaded.profile);
  if (device == nullptr || device->name.empty()) return found;
  const std::int64_t threads = !loaded.profile->has_device() && annotated.manifest ? annotated.manifest->threads : 0;
  found.peaks = runs::peaks_of(device->name, threads, runs::process_environment());
  if (!found.peaks || found.peaks->published) found.device = device->name;
  return found;
}

// `set`: of several ranks, else null.
Result<int> report_one(const ranks::Source& source, const ReportOptions& options, const ranks::RankSet* set) {
  if (options.events) {
    const auto written = report::report_events(source.path, std::cout, source.rank);
    return written ? Result<int>(kDone) : std::unexpected(written.error());
  }
  const auto loaded = profile::load_annotated(source.path, options.step, source.rank);
  if (!loaded) return std::unexpected(loaded.error());
  const profile::Profile& profile = *loaded->profile;
  if (options.saved) return saved_of(profile, options);
  if (options.format == OutputFormat::json) {
    std::cout << report::report_json(profile, set, beside(*loaded)) << '\n';
  } else {
    const bool color = use_colour(STDOUT_FILENO);
    if (set) std::cout << report::ranks_text(*set, format::style(color));
    std::cout << report::report_text(profile, {.color = color, .unfold = options.unfold}, beside(*loaded));
    if (const auto found = sweep::seen(source.path)) std::cerr << "hotlens: " << harmless(sweep::spelled(*found)) << '\n';
  }
  for (const Issue& issue : profile.warnings) std::cerr << "hotlens: " << harmless(issue.message) << '\n';
  return kDone;
}

// The ranks beside each other, then one of them.
Result<int> report_ranks(std::span<const ranks::Source> sources, const ReportOptions& options) {
  const Result<ranks::Ranks> all = ranks::read(sources);
  if (!all) return std::unexpected(all.error());
  const Result<std::size_t> shown = all->position(options.rank);
  if (!shown) return std::unexpected(shown.error());
  return report_one(all->sources[*shown], options, &all->set);
}

}  // namespace

int report(const ReportOptions& options) {
  if (options.track_record) return track_record(options);
  if (!options.log.empty()) return report_target(options);
  const std::vector<std::string> latest{"latest"};
  auto sources = ranks::sources(options.profiles.empty() ? latest : options.profiles, std::filesystem::current_path());
  if (!sources) return fail(sources.error());
  Result<int> done = kDone;
  if (sources->size() == 1) {
    const Result<ranks::Source> one = ranks::one_of(*sources, options.rank);
    done = one ? report_one(*one, options, nullptr) : std::unexpected(one.error());
  } else {
    done = report_ranks(*sources, options);
  }
  return done ? *done : fail(done.error());
}

}  // namespace hotlens::cli
