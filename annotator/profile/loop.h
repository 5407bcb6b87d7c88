// The whole training loop as the clocks of its statements saw it, over updates without a profiler (annotator/recorder/FORMAT.md,
// loop.json). What comes every k-th update (a rollout, an evaluation, saving) has its share here; the profiled steps may have none of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/units.h"
#include "annotator/profile/profile.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {

struct LoopStatement {
  Site site;             // of a compound statement its header; `end_column` is not known
  std::string kind;      // "statement", "for", "while", "if", "with", "loop": one that leads to no update, as a whole
  bool in_loop = false;  // in its function a loop that makes updates is around it
  std::int64_t calls = 0;
  Ns timed{};                                      // of these calls, with everything that they called
  Ns total{};                                      // the same, had each kind of update come as often among those watched as it comes
  std::int64_t in_watched = 0;                     // in how many of the updates watched it had time; 0: older recordings do not tell
  std::int64_t in_updates = 0;                     // in how many of those made it had time
  std::int64_t first_update = 0, last_update = 0;  // of those made
  std::optional<Spread> usual;                     // of its time in each of those watched; nothing for fewer than three
  std::int64_t startup_calls = 0;
  Ns startup{};  // until the first update was complete; in no other number
};

// A call of a model for an evaluation that recorded what a backward pass needs, and none followed: gradients had not been switched off.
struct UnusedGraph {
  Site site;          // the line that calls
  std::string model;  // its class; hostile text
  Bytes kept{};       // of what one call has computed, until its results go; more than 0
};

// Processor time while the loop ran: of the script's processes, and of all other programs.
struct Processors {
  std::int64_t count = 0;  // at least one
  Ns wall{};               // more than 0
  Ns ours{}, others{};
};

struct Loop {
  std::int64_t updates = 0;  // watched; at least one
  std::int64_t made = 0;     // of which these are a part; a profiler ran in the others
  Ns watched{};              // their wall time, with `behind`; more than 0
  Ns behind{};               // what the device had still to do of them when the host was done: the host ran ahead of it, and never waited
  Ns startup{};              // from the start of the script to the end of the first update
  std::vector<LoopStatement> statements;
  Ns rare{};  // of `watched`, in statements that come now and then, or in a package's updates that have such statements
  std::optional<Processors> processors;
  std::vector<UnusedGraph> unused_graphs;
  std::optional<Ns> slow_first;  // the first update watched, where it was left out for being several times as long as those behind it
};

// The header of the loop over batches, which fetches one and does nothing else; the longest of several. nullptr where that is not certain.
const LoopStatement* fetching(const Loop& loop, const std::vector<StageSite>& sites);

// Mean over the updates watched, in whole nanoseconds.
Ns per_update(const Loop& loop, Ns total);
// Of the time of all updates watched: 0 to 1.
double share(const Loop& loop, Ns total);
// How many updates lie between two in which it ran; nothing where it ran in fewer than two.
std::optional<double> rhythm(const LoopStatement& statement);
// Of so many updates that its time is divided by, where it ran in `in_updates` of them: of work that came once those until then, if it may
// come again.
std::int64_t counted_of(const Loop& loop, const LoopStatement& statement);
// Of an update in which it ran at all; nothing where none was watched.
std::optional<Ns> time_when_it_comes(const LoopStatement& statement);
// It ran in less than every second update.
bool is_rare(const Loop& loop, const LoopStatement& statement);

// One function's statements do not overlap; what it calls is part of the statement that calls it.
struct LoopFunction {
  FileId file;
  std::string function;
  std::vector<const LoopStatement*> statements;  // of the Loop, by line
  Ns total{}, startup{};
};
// The one that holds the loop first: its statements add up to all that was watched, but for what no line of the script has. The others call
// it or are called from it, so that their times are no further ones; longest first.
std::vector<LoopFunction> functions(const Loop& loop);

// "Trainer.fit" is called as fit().
std::string_view called_name(std::string_view function);
bool is_called_in(std::string_view line, std::string_view called_name);

// Of these statements. Of a loop that is a package's own at least so much: its parts are known as far as they are the script's.
Ns rare_time(const Loop& loop);
// The share of an update that a step without rare statements takes: what a share of a profiled step is to be multiplied by.
double usual_share(const Loop& loop);

// Most of an update's time comes now and then: what limits the step is the lesser part.
bool is_mostly_rare(const Loop& loop);

// A mean update: one step, and its part of what comes now and then. They add up to it.
struct Update {
  Ns step{}, rare{};
};
Update mean_update(const Loop& loop);
// Of the loop; where none was watched the step without a profiler, else the shown one.
Update mean_update(const Profile& profile);
// What headlines of modules (profile.h) are shares of. Host time of the profiled step is a share of that step: a profiler makes both
// longer. Device time, which it leaves as it is, is a share of a step without one; that is never less than what the device did.
Ns headline_whole(const Profile& profile);
// Too little to be worth a word.
bool is_negligible(const Update& update);
// The share of the machine's processors that other programs had, where they were scarce: hardly one was idle, and the others had more than
// a trace. Then times are longer than on a quiet machine.
std::optional<double> share_of_others(const Loop& loop);
// What "/step" stands behind: with the rare work where that is not worth a word.
Ns step_time(const Update& update);
// "Net is called with gradients on and no backward pass follows: each call keeps 524 kB until its results go; nothing under
// torch.no_grad()"
std::string spelled(const UnusedGraph& graph);
// "1.09 ms/step + 4.94 ms rare work"; `after_step` follows "step".
std::string spelled(const Update& update, const std::string& after_step = "");

}  // namespace hotlens::profile
