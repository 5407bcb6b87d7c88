// Time to target from a training's log; the profile and its ledger tell how long a step takes and what a change would make of it.
#include <unistd.h>

#include <iostream>
#include <map>

#include "annotator/advice/ledger.h"
#include "annotator/advice/suggestion.h"
#include "annotator/common/file.h"
#include "annotator/common/harmless.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/report/target/target.h"
#include "server/cli/verbs.h"

namespace hotlens::cli {
namespace {

// The last word on each change of this profile: verified before predicted, and only what is sure to be a gain.
std::vector<target::Change> changes_of(const std::filesystem::path& bundle, const std::string& id) {
  const auto ledger = advice::read_ledger(advice::ledger_of(bundle));
  if (!ledger) return {};
  std::map<std::string, target::Change> last;
  for (const advice::Record& record : ledger->records) {
    const bool verified = record.event == advice::Event::verified;
    if (record.profile != id || !record.ratio || record.event == advice::Event::applied) continue;
    if (!verified && last.contains(record.kind) && last.at(record.kind).how == "verified") continue;
    const lab::Ratio& ratio = *record.ratio;
    if (ratio.low > 0 && ratio.ratio > 0) {
      last[record.kind] = {record.kind, verified ? "verified" : "replayed", ratio.ratio, ratio.low, ratio.high};
    }
  }
  std::vector<target::Change> sure;
  for (auto& [kind, change] : last) {
    if (advice::promises({change.ratio, change.low, change.high})) sure.push_back(std::move(change));
  }
  std::ranges::sort(sure, {}, &target::Change::ratio);
  return sure;
}

// What a profile adds. Without one the log speaks alone, unless somebody named it.
Result<void> add_profile(const ReportOptions& options, target::Asked& asked) {
  const bool named = !options.profiles.empty();
  const auto path = profile::resolve(named ? options.profiles.front() : "latest", std::filesystem::current_path());
  const auto manifest = path ? profile::read_manifest(*path) : std::unexpected(path.error());
  if (!manifest) return named ? Result<void>(std::unexpected(manifest.error())) : Result<void>{};
  asked.profile = manifest->id;
  asked.step = profile::shown_step(*path, *manifest);
  asked.samples_per_step = manifest->samples_per_step;
  asked.changes = changes_of(*path, manifest->id);
  return {};
}

Result<target::Log> read(const ReportOptions& options, const std::string& text) {
  if (options.loss_pattern.empty()) return target::read_mllog(text, options.metric);
  const auto pattern = target::Pattern::parse(options.loss_pattern);
  return pattern ? target::read_pattern(text, *pattern) : std::unexpected(pattern.error());
}

}  // namespace

int report_target(const ReportOptions& options) {
  const std::string file = options.log.string();
  const auto text = read_file(options.log, target::kMostLog);
  if (!text) return fail(text.error());
  auto log = read(options, *text);
  if (!log) {
    if (log.error().code == ErrorCode::malformed) log.error().where = file;
    return fail(log.error());
  }
  target::Asked asked{.target = options.target, .total = options.total_steps};
  if (const auto added = add_profile(options, asked); !added) return fail(added.error());
  const auto answer = target::answer(*log, asked);
  if (!answer) return fail(answer.error());
  const auto warn = [](std::int64_t lines, const std::string& what) {
    if (lines > 0) std::cerr << "hotlens: lines of the log that " << what << ": " << lines << '\n';
  };
  warn(log->unreadable, "cannot be read and do not count");
  warn(log->too_long, "are longer than " + std::to_string(target::kMostLine) + " characters and were left out");
  std::cout << (options.format == OutputFormat::json ? target::as_json(*log, *answer, file) + '\n'
                                                     : target::as_text(*log, *answer, file, use_colour(STDOUT_FILENO)));
  return kDone;
}

}  // namespace hotlens::cli
