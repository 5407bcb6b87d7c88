#include "server/cli/whatif_change.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/advice/ledger.h"
#include "annotator/lab/whatif/kinds.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/kept.h"
#include "server/lab/verify.h"
#include "server/runs/discovery.h"

namespace hotlens::cli {
namespace {

namespace fs = std::filesystem;

// While it lives a signal that would end the program is remembered: runs are stopped, and their files put away, before it ends.
class Interrupts {
 public:
  Interrupts() {
    asked_ = 0;
    for (std::size_t at = 0; at < kSignals.size(); ++at) {
      struct sigaction remember{};
      remember.sa_handler = [](int) { asked_ = 1; };
      ::sigaction(kSignals[at], &remember, &before_[at]);
    }
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    for (std::size_t at = 0; at < kSignals.size(); ++at) ::sigaction(kSignals[at], &before_[at], nullptr);
  }

  static bool asked() { return asked_ != 0; }

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  static volatile std::sig_atomic_t asked_;
  std::array<struct sigaction, kSignals.size()> before_{};
};
volatile std::sig_atomic_t Interrupts::asked_ = 0;

void keep(const advice::Record& record, const fs::path& bundle, const Say& say) {
  if (const auto kept = advice::add(advice::ledger_of(bundle), record); !kept) say(kept.error().message);
}

// The widest of its kinds; absent where one of them may alter the losses.
std::optional<double> losses_within(const lab::WhatIf& item) {
  double most = 0;
  for (const lab::Part& part : item.parts) {
    const lab::Kind* kind = lab::kind_named(advice::what_if_of(part.kind));
    if (kind == nullptr || !kind->losses) return std::nullopt;
    most = std::max(most, *kind->losses);
  }
  return most;
}

constexpr std::chrono::minutes kCompiling{10};  // what no replay knows may compile before its first step

bool may_compile(const lab::WhatIf& item) {
  return std::ranges::any_of(item.parts, [](const lab::Part& part) {
    const lab::Kind* kind = lab::kind_named(part.kind);
    return kind != nullptr && !kind->is_replayed();
  });
}

Result<lab::Verdict> verified(const lab::WhatIf& item, const std::expected<advice::Edits, advice::NoEdit>& edits,
                              const advice::Sources& sources, const fs::path& bundle, const WhatIfOptions& options, const Say& say) {
  const auto python = runs::find_python(options.python, fs::current_path(), runs::process_environment());
  if (!python) return std::unexpected(python.error());
  lab::VerifyAsk ask{.bundle = bundle,
                     .python = python->path,
                     .texts = {},
                     .environment = advice::environment_of(item.parts),
                     .limit = std::chrono::minutes(options.limit),
                     .losses_within = losses_within(item),
                     .startup = may_compile(item) ? kCompiling : std::chrono::seconds{},
                     .say = say,
                     .stopped = Interrupts::asked};
  for (const advice::FileEdit& edit : edits.value_or(advice::Edits{})) {
    const advice::SourceText& file = sources.files[edit.file];
    ask.texts.emplace_back(file.path, advice::replaced(file.text, edit.replacements));
  }
  const Interrupts interrupts;
  const auto found = lab::verify(ask);
  if (!found) return std::unexpected(found.error());
  const advice::Measured& measured = found->measured;
  return lab::Verdict{.pairs = measured.pairs,
                      .time = {measured.ratio, measured.low, measured.high},
                      .faster = measured.faster(),
                      .slower = measured.slower(),
                      .losses = std::string(advice::name(found->losses)),
                      .before = found->before,
                      .longer = found->longer};
}

}  // namespace

void keep_predictions(const lab::WhatIfs& all, const fs::path& bundle, const Say& say) {
  for (const lab::WhatIf& item : all.items) {
    if (item.time) keep(lab::record_of(item, all.profile, bundle, advice::Event::predicted), bundle, say);
  }
}

void keep_foretold(const std::vector<profile::Finding>& findings, const fs::path& bundle, const Say& say) {
  for (const profile::Finding& finding : findings) {
    if (!finding.only_measured) keep(lab::record_of(finding, bundle.filename().string(), bundle), bundle, say);
  }
}

Result<void> make_changes(lab::WhatIfs& all, const fs::path& bundle, const WhatIfOptions& options, const Say& say) {
  const auto sources = advice::read_sources(bundle);
  if (!sources) return std::unexpected(sources.error());
  for (lab::WhatIf& item : std::exchange(all.items, {})) {
    const auto edits = advice::edits_of(item.parts, *sources);
    const bool by_environment = !edits && options.verify && !advice::environment_of(item.parts).empty();
    if (!edits && !by_environment) {
      all.refused.push_back({item.kind, {.reason = sentence(edits.error())}});
      continue;
    }
    if (edits) item.edits = advice::described(*edits, *sources);
    if (options.verify) {
      auto verdict = verified(item, edits, *sources, bundle, options, say);
      if (!verdict) return std::unexpected(verdict.error());
      item.verified = std::move(*verdict);
      item.state = lab::State::verified;
      advice::Record kept = lab::record_of(item, all.profile, bundle, advice::Event::verified);
      kept.ratio = item.verified->time;
      kept.pairs = item.verified->pairs;
      kept.losses = advice::losses_named(item.verified->losses);
      keep(kept, bundle, say);
    }
    const bool better = !item.verified || (item.verified->faster && item.verified->losses != "differ");
    if (options.apply && !better) say("not applied: the runs did not become faster with the same losses");
    if (options.apply && by_environment) say("not applied: " + sentence(edits.error()));
    if (options.apply && edits && better && !options.dry_run) {
      if (const auto written = advice::write(*edits, *sources); !written) return std::unexpected(written.error());
      item.state = lab::State::applied;
      keep(lab::record_of(item, all.profile, bundle, advice::Event::applied), bundle, say);
    }
    all.items.push_back(std::move(item));
  }
  return {};
}

}  // namespace hotlens::cli
