// The numbers of one source line: every fact that stands on it, summed so that nothing is counted twice.
//
// A line shows one thing. In this order: a class (all its instances), a stage of the training loop, a definition, what the line ran
// (calls and plain operators alike), a constructor in a helper, a statement of the loop. Where the loop was watched without a profiler, the
// time of its statements is what their clocks saw, per update.
// Modules are summed per measured step, outermost instances only, then those of the representative step are shown; a stage shows the wall
// time that it spends on this line, a call what was called from there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/features/lines/file_facts.h"
#include "server/features/lines/line_clock.h"

namespace hotlens::features {

// A stage that the line enters.
struct StagePart {
  profile::Stage stage = profile::Stage::other;
  Ns wall{}, cpu{}, device{};  // of this line alone
  std::string counted_at;      // "line 43", "train.py:43": where its time is shown instead of here; empty where it is shown here
};

// In the order in which they win on one line: `trainer.fit(Net(), loader)` shows its stages.
enum class Subject : std::uint8_t { class_line, stage, definition, execution, constructor, statement };

struct LineSummary {
  std::uint32_t line = 0;  // in the text as it is now
  Subject subject = Subject::execution;
  source::State state = source::State::fresh;
  source::Range range;                     // of the first fact
  profile::PerStep forward, backward;      // per measured step
  std::vector<Ns> headline;                // the whole per measured step, for the spread
  Ns value{};                              // the shown number: the sum of what a hover lists
  Ns one_of{};                             // part of it that ran in one of `modules`, not known in which
  std::int64_t times = 1;                  // instances, or executions in one step
  std::vector<profile::ModuleId> modules;  // outermost ones; empty for a line without modules
  profile::ModuleId container;             // the line's one module that holds them all and is never called itself (ModuleList)
  std::vector<StagePart> stages;           // for a stage
  std::vector<std::uint32_t> call_sites;   // for a call whose own time is known: into Profile::call_sites
  std::optional<LineClock> clock;
  bool timed = false;      // `value` is the clock's, per update
  double worker_part = 0;  // of what the step waits for workers of its loader, where the line runs in one
  bool part = false;       // of one expression of the line, not of all of it
  std::vector<profile::Slice> slices;
  std::vector<std::uint32_t> facts;  // what it was made from: indices into view.placements
};

// Whether the line is of that stage, or its call enters it.
bool enters(const LineSummary& summary, profile::Stage stage);
// Whether time of the line is shown on another one.
bool is_counted_elsewhere(const LineSummary& summary);
// Whether the timeline has a block for it: of a module, or of a stage.
bool has_block(const LineSummary& summary);
// Of an update: of the step's wall time and, where more happens between steps than in each, of that too.
double share(const LineSummary& summary, const profile::Profile& profile);
// 0 of nothing.
double share_of(Ns part, Ns whole);

// The facts that stand on one line: indices into view.placements, increasing.
struct LineFacts {
  std::uint32_t line = 0;
  std::vector<std::uint32_t> facts;
};
// Sorted by line; only lines in `lines` that have facts. Orphans are left out.
std::vector<LineFacts> facts_by_line(const FileView& view, LineRange lines);

LineSummary summarize_line(const FileView& view, const LineFacts& line);

// All lines of facts_by_line().
std::vector<LineSummary> summarize(const FileView& view, LineRange lines);

// The summary of exactly the facts given (indices into view.placements), for a hover on one of several calls of a line.
LineSummary summarize_facts(const FileView& view, const std::vector<std::uint32_t>& facts);

// What a hover at this place is about: the call or definition there, else the whole line; nullopt where nothing was measured.
std::optional<LineSummary> summary_at(const FileView& view, source::Position at);

// Drops duplicates and modules that have an ancestor in the list. Where some are called, those that are not (ModuleList) are replaced by
// the called ones that they hold, so that no part of what the line made is left out.
std::vector<profile::ModuleId> outermost(const profile::Profile& profile, std::vector<profile::ModuleId> modules);

}  // namespace hotlens::features
