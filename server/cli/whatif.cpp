// What a change of the training step would give, from replays of the recorded and of the edited step: none of the user's code runs.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "annotator/common/harmless.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/cli/verbs.h"
#include "server/cli/whatif_change.h"
#include "server/lab/suggestions.h"
#include "server/lab/what_ifs.h"
#include "server/runs/discovery.h"

namespace hotlens::cli {
namespace {

std::vector<std::string> parts(const std::string& text, char by) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

Error unknown(const std::string& name) {
  std::string known;
  for (const lab::Kind& kind : lab::kinds()) known += (known.empty() ? "" : ", ") + std::string(kind.name);
  return {ErrorCode::usage, "`" + name + "` is no change that is known; there are " + known, {}};
}

std::vector<lab::Together> every() {
  std::vector<lab::Together> all;
  for (const lab::Kind& kind : lab::kinds()) all.push_back({&kind});
  return all;
}

// "optimizer-fused,channels-last+autocast-bf16": two, of which the second is two changes at once.
Result<std::vector<lab::Together>> wanted(const std::string& text) {
  if (text.empty() || text == "list") return every();
  std::vector<lab::Together> all;
  for (const std::string& together : parts(text, ',')) {
    lab::Together kinds;
    for (const std::string& name : parts(together, '+')) {
      const lab::Kind* kind = lab::kind_named(name);
      if (kind == nullptr) return std::unexpected(unknown(name));
      kinds.push_back(kind);
    }
    if (std::ranges::find(all, kinds) == all.end()) all.push_back(std::move(kinds));
  }
  return all;
}

Error names_no_change(const std::string& flag) {
  return {ErrorCode::usage, "name one change, `+` joins several: hotlens whatif optimizer-fused " + flag, {}};
}

}  // namespace

int whatif(const WhatIfOptions& options) {
  auto kinds = wanted(options.kinds);
  if (!kinds) return fail(kinds.error());
  const bool changes = options.apply || options.verify;
  if ((options.dry_run && !options.apply) || (changes && kinds->size() != 1)) {
    return fail(names_no_change(options.verify ? "--verify" : "--apply"));
  }
  const std::filesystem::path here = std::filesystem::current_path();
  const auto bundle = profile::resolve(options.profile, here);
  if (!bundle) return fail(bundle.error());
  const Say say = [](const std::string& what) { std::cerr << "hotlens: " << harmless(what) << std::endl; };
  lab::WhatIfAsk ask{.bundle = *bundle, .wanted = std::move(*kinds), .python = {}, .say = say};
  if (options.kinds != "list" && (!options.apply || options.verify)) {
    const auto python = runs::find_python(options.python, here, runs::process_environment());
    if (!python) return fail(python.error());
    ask.python = python->path;
  }
  auto found = lab::ask_what_ifs(ask);
  if (!found) return fail(found.error());
  keep_predictions(*found, *bundle, say);
  if (changes) {
    if (const auto made = make_changes(*found, *bundle, options, say); !made) return fail(made.error());
  }
  lab::mark_silenced(*found, *bundle);
  std::cout << (options.format == OutputFormat::json ? lab::as_json(*found) + '\n' : lab::as_text(*found, use_colour(STDOUT_FILENO)));
  return changes && found->items.empty() ? kInputUnusable : kDone;
}

}  // namespace hotlens::cli
