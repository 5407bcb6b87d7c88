// What the ledger says last of each change of one profile: what was predicted, and what came of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "annotator/advice/ledger.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::advice {

struct Told {
  std::optional<lab::Ratio> predicted;  // by a replay
  std::vector<std::string> assumes;
  std::string interval;
  std::optional<lab::SourceLine> where;
  std::optional<lab::Verdict> verified;
  Bytes peak_was{}, peak{};  // by the same replay; 0: not known
};

// By kind; several that are made together are joined by "+". What a rule has foretold is in the profile itself. Numbers that cannot be are
// left out.
using Tellings = std::map<std::string, Told>;
Tellings told_of(const Ledger& ledger, const std::string& profile);

// "channels last and autocast", of kinds that are replayed; empty where one of them is none.
std::string title_of(const std::string& kinds);

}  // namespace hotlens::advice
