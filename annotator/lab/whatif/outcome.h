// What a change would give, from replays of the recorded and of the changed step that took turns.
//
// Time is scaled: T = T(real) * replay(changed) / replay(recorded), the ratio being the median over turns. Its interval is two standard
// errors of that median and what such predictions of the kind are off by. Memory is the allocator's peak in both replays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/common/units.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/lab/whatif/kinds.h"
#include "annotator/profile/profile.h"

namespace hotlens::lab {

struct Ratio {
  double ratio = 1, low = 1, high = 1;
  bool faster() const { return high < 1; }
  bool slower() const { return low > 1; }
};
// Of a file that anybody may have written: its numbers are in order, and a step becomes no more than a thousand times longer.
bool is_possible(const Ratio& time);
// `error`: see Kind. Nullopt where one of them has no times.
std::optional<Ratio> ratio_of(const Replays& recorded, const Replays& changed, double error);

// Of the whole step, where this share of it (0 to 1) is in no replay and stays as it is: the fetch of a batch.
Ratio with_rest(const Ratio& replayed, double share);

// Minor page faults of a plain step, where they take much of it.
struct PageFaults {
  std::int64_t count = 0;
  Ns time{}, step{};
};
// Of a replay, which has no such faults: the change may end those of the script, or not. So it excludes no change.
Ratio unsure(const Ratio& replayed, const PageFaults& faults);
std::string sentence(const PageFaults& faults);
// The member "warnings", empty where there are none; and a line of text.
void write_warnings(JsonText& json, const std::optional<PageFaults>& faults);
std::string warning(const PageFaults& faults, const format::Style& style);

struct SourceLine {
  std::string file;
  std::int64_t line = 0;  // from 0
};

// A change of a file's text; lines and characters from 0, characters in bytes of UTF-8.
struct SourceEdit {
  std::string file;
  std::int64_t line = 0, character = 0, end_line = 0, end_character = 0;
  std::string was, text;
};

// What one kind of several changes.
struct Part {
  std::string kind;
  std::vector<std::string> modules;  // paths
};

// `open`: not applied. `applied`: its edits are in the files. `verified`: the script was run before and after it. `silenced`: somebody does
// not want it to be recommended there.
enum class State : std::uint8_t { open, applied, verified, silenced };

// From runs of the script, in pairs.
struct Verdict {
  std::size_t pairs = 0;
  Ratio time;
  bool faster = false, slower = false;
  std::string losses;     // "equal", "close", "differ", "unknown"
  Ns before{}, longer{};  // a step before the change; how much longer the first of the changed runs took to start, where that is much
};

// A choice of blocks to checkpoint, replayed.
struct CurvePoint {
  std::vector<std::string> blocks;  // paths
  Bytes peak{};
  Ns step{};
  std::optional<Ratio> time;  // absent: the unchanged step
};

// The best choices: each has a lower peak than all that take less time.
struct Curve {
  std::size_t blocks = 0;          // to choose from
  std::vector<CurvePoint> points;  // the unchanged step first
  std::size_t chosen = 0;
  std::optional<Bytes> budget;
  bool within = true;  // the chosen one stays within the budget
  std::string note;    // what more there is to say; empty: nothing
};

// One kind, or several that are made together.
struct WhatIf {
  std::string kind, title;  // several: joined by "+" and " and "
  std::vector<std::string> evidence, assumes, modules;
  std::vector<Part> parts;  // in the order in which they are made
  std::optional<SourceLine> where;
  std::optional<Ratio> time;  // absent: it was not replayed
  Ns step_was{}, step{};
  Bytes peak_was{}, peak{};
  State state = State::open;
  std::optional<Verdict> verified;
  std::vector<SourceEdit> edits;  // absent unless asked for
  std::optional<Curve> curve = {};
  std::string interval = {};       // where the interval of its time comes from, in words; empty: what such replays are usually off by
  bool unsure = false;             // the step is mostly page faults, which the change may end or not
  std::int64_t times_samples = 1;  // of a step
};

struct NotThis {
  std::string kind;
  NotHere why;
  std::string instead = {};  // a kind that gives what this one was wanted for
};

struct WhatIfs {
  std::string profile;
  std::optional<SelfCheck> check;          // absent: nothing was replayed
  std::vector<WhatIf> items;               // the fastest first
  std::vector<WhatIf> depends = {};        // changes of what is trained: told apart, and no advice
  std::vector<profile::Finding> findings;  // what the recording alone gives evidence for; no kind that is among the items
  Ns step{};                               // without the findings' changes, as it is shown everywhere
  std::vector<NotThis> refused;
  std::optional<PageFaults> faults;
};

// After how many steps a longer start is paid back; absent where it is not, and where it is no longer.
std::optional<std::int64_t> pays_back_after(const Verdict& verified);
// "starting takes 38 s longer, which is paid back after 9,100 steps"; empty where it does not.
std::string startup_words(const Verdict& verified);

// "≈ −13 % (−16…−10)"
std::string spelled(const Ratio& time);
// "−12.8 % ± 1.1 %, 6 pairs"
std::string spelled(const Verdict& verified);
// What is said of its losses, as a sentence without its stop; empty where nothing is.
std::string_view losses_words(const Verdict& verified);

std::string as_json(const WhatIfs& all);
std::string as_text(const WhatIfs& all, bool color);

}  // namespace hotlens::lab
