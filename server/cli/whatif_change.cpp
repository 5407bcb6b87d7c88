#include "server/cli/whatif_change.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "annotator/advice/edits.h"
#include "annotator/advice/ledger.h"
#include "annotator/lab/whatif/kinds.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/verify.h"
#include "server/runs/discovery.h"

namespace hotlens::cli {
namespace {

namespace fs = std::filesystem;

advice::Record record(const lab::WhatIf& item, const std::string& profile, const fs::path& bundle, advice::Event event) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto manifest = profile::read_manifest(bundle);
  advice::Record made{.event = event,
                      .time = fmt::format("{:%FT%TZ}", now),
                      .profile = profile,
                      .kind = item.kind,
                      .torch = manifest ? manifest->torch : std::string(),
                      .file = item.where ? item.where->file : std::string(),
                      .line = item.where ? item.where->line : 0,
                      .method = {},
                      .ratio = {},
                      .assumes = {}};
  if (event == advice::Event::predicted) {
    made.method = "replay";
    made.ratio = item.time;
    made.assumes = item.assumes;
  }
  return made;
}

void keep(const advice::Record& record, const fs::path& bundle, const Say& say) {
  if (const auto kept = advice::add(advice::ledger_of(bundle), record); !kept) say(kept.error().message);
}

// The widest of its kinds; absent where one of them may alter the losses.
std::optional<double> losses_within(const lab::WhatIf& item) {
  double most = 0;
  for (const lab::Part& part : item.parts) {
    const lab::Kind* kind = lab::kind_named(part.kind);
    if (kind == nullptr || !kind->losses) return std::nullopt;
    most = std::max(most, *kind->losses);
  }
  return most;
}

Result<lab::Verdict> verified(const lab::WhatIf& item, const advice::Edits& edits, const advice::Sources& sources, const fs::path& bundle,
                              const WhatIfOptions& options, const Say& say) {
  const auto python = runs::find_python(options.python, fs::current_path(), runs::process_environment());
  if (!python) return std::unexpected(python.error());
  lab::VerifyAsk ask{.bundle = bundle,
                     .python = python->path,
                     .texts = {},
                     .limit = std::chrono::minutes(options.limit),
                     .losses_within = losses_within(item),
                     .say = say};
  for (const advice::FileEdit& edit : edits) {
    const advice::SourceText& file = sources.files[edit.file];
    ask.texts.emplace_back(file.path, advice::replaced(file.text, edit.replacements));
  }
  const auto found = lab::verify(ask);
  if (!found) return std::unexpected(found.error());
  const advice::Measured& measured = found->measured;
  return lab::Verdict{.pairs = measured.pairs,
                      .time = {measured.ratio, measured.low, measured.high},
                      .faster = measured.faster(),
                      .slower = measured.slower(),
                      .losses = std::string(advice::name(found->losses))};
}

}  // namespace

void keep_predictions(const lab::WhatIfs& all, const fs::path& bundle, const Say& say) {
  for (const lab::WhatIf& item : all.items) {
    if (item.time) keep(record(item, all.profile, bundle, advice::Event::predicted), bundle, say);
  }
}

Result<void> make_changes(lab::WhatIfs& all, const fs::path& bundle, const WhatIfOptions& options, const Say& say) {
  const auto sources = advice::read_sources(bundle);
  if (!sources) return std::unexpected(sources.error());
  for (lab::WhatIf& item : std::exchange(all.items, {})) {
    const auto edits = advice::edits_of(item.parts, *sources);
    if (!edits) {
      all.refused.push_back({item.kind, {.reason = sentence(edits.error())}});
      continue;
    }
    item.edits = advice::described(*edits, *sources);
    if (options.verify) {
      auto verdict = verified(item, *edits, *sources, bundle, options, say);
      if (!verdict) return std::unexpected(verdict.error());
      item.verified = std::move(*verdict);
      item.state = lab::State::verified;
      advice::Record kept = record(item, all.profile, bundle, advice::Event::verified);
      kept.ratio = item.verified->time;
      kept.pairs = item.verified->pairs;
      kept.losses = advice::losses_named(item.verified->losses);
      keep(kept, bundle, say);
    }
    const bool better = !item.verified || (item.verified->faster && item.verified->losses != "differ");
    if (options.apply && !better) say("not applied: the runs did not become faster with the same losses");
    if (options.apply && better && !options.dry_run) {
      if (const auto written = advice::write(*edits, *sources); !written) return std::unexpected(written.error());
      item.state = lab::State::applied;
      keep(record(item, all.profile, bundle, advice::Event::applied), bundle, say);
    }
    all.items.push_back(std::move(item));
  }
  return {};
}

}  // namespace hotlens::cli
