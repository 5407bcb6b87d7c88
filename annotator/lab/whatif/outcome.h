// What a change would give, from replays of the recorded and of the changed step that took turns.
//
// Time is scaled: T = T(real) * replay(changed) / replay(recorded), the ratio being the median over turns. Its interval is two standard
// errors of that median and what such predictions of the kind are off by. Memory is the allocator's peak in both replays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/common/units.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/lab/whatif/kinds.h"

namespace hotlens::lab {

struct Ratio {
  double ratio = 1, low = 1, high = 1;
  bool faster() const { return high < 1; }
  bool slower() const { return low > 1; }
};
// `error`: see Kind. Nullopt where one of them has no times.
std::optional<Ratio> ratio_of(const Replays& recorded, const Replays& changed, double error);

struct SourceLine {
  std::string file;
  std::int64_t line = 0;  // from 0
};

// One kind, or several that are made together.
struct WhatIf {
  std::string kind, title;  // several: joined by "+" and " and "
  std::vector<std::string> evidence, assumes, modules;
  std::optional<SourceLine> where;
  std::optional<Ratio> time;  // absent: it was not replayed
  Ns step_was{}, step{};
  Bytes peak_was{}, peak{};
};

struct NotThis {
  std::string kind;
  NotHere why;
};

struct WhatIfs {
  std::string profile;
  std::optional<SelfCheck> check;  // absent: nothing was replayed
  std::vector<WhatIf> items;       // the fastest first
  std::vector<NotThis> refused;
};

std::string as_json(const WhatIfs& all);
std::string as_text(const WhatIfs& all, bool color);

}  // namespace hotlens::lab
