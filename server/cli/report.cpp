#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"

#include <unistd.h>

#include <iostream>

#include "annotator/common/harmless.h"
#include "annotator/profile/profile.h"
#include "server/cli/verbs.h"

namespace hotlens::cli {

int report(const ReportOptions& options) {
  const auto path = profile::resolve(options.profile, std::filesystem::current_path());
  if (!path) return fail(path.error());
  if (options.events) {
    const auto written = report::report_events(*path, std::cout, options.rank);
    return written ? kDone : fail(written.error());
  }
  const auto loaded = profile::load(*path, options.step, options.rank);
  if (!loaded) return fail(loaded.error());
  if (options.format == OutputFormat::json) {
    std::cout << report::report_json(**loaded) << '\n';
  } else {
    std::cout << report::report_text(**loaded, {.color = use_colour(STDOUT_FILENO), .unfold = options.unfold});
  }
  for (const Issue& issue : (*loaded)->warnings) std::cerr << "hotlens: " << harmless(issue.message) << '\n';
  return kDone;
}

}  // namespace hotlens::cli
