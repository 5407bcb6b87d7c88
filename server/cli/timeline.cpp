// The step drawn as text, and what limits it.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "annotator/blocks/blocks.h"
#include "annotator/common/format.h"
#include "annotator/common/harmless.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/cli/verbs.h"
#include "server/text/terminal.h"

namespace hotlens::cli {
namespace {

constexpr std::size_t kColumns = 100;  // where nothing tells how wide the output is

std::size_t columns_of_output() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kColumns;
}

std::string verdict(const profile::Profile& profile) {
  std::string text = profile.verdict.kind + (profile.verdict.kind == "unclear" ? "" : "-bound");
  for (std::size_t at = 0; at < std::min<std::size_t>(profile.verdict.evidence.size(), 3); ++at) {
    const profile::Verdict::Evidence& evidence = profile.verdict.evidence[at];
    text += (at == 0 ? ": " : ", ") + evidence.what + " " + format::readable(evidence.time);
  }
  return text;
}

}  // namespace

int timeline(const TimelineOptions& options) {
  const auto path = profile::resolve(options.profile, std::filesystem::current_path());
  if (!path) return fail(path.error());
  auto annotated = profile::annotate(*path);
  if (!annotated) return fail(annotated.error());
  const auto shared = std::make_shared<profile::Annotated>(std::move(*annotated));
  const auto profile = profile::profile_of(*shared);
  if (profile->steps.empty()) return fail({ErrorCode::malformed, path->string() + " holds no step to draw", path->string()});
  const auto blocks = blocks::blocks_of(shared, profile->representative);
  const bool color = use_colour(STDOUT_FILENO);
  std::cout << harmless(profile->source) << "  " << harmless(verdict(*profile)) << "\n\n"
            << text::timeline(*blocks, {.columns = options.width > 0 ? options.width : columns_of_output(), .color = color});
  for (const Issue& issue : profile->warnings) std::cerr << "hotlens: " << harmless(issue.message) << '\n';
  return kDone;
}

}  // namespace hotlens::cli
