// The ledger: what was predicted and what came of it, kept for good in one file of the workspace (FORMAT.md).
//
// A record is one line, added at the end and never changed. Lines that are no records are left out and counted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/advice/pairs.h"
#include "annotator/common/error.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::advice {

// `seen`: the next profile of the script has an applied change and no other. `unseen`: it has not, and `reason` says why nothing is
// counted.
enum class Event : std::uint8_t { predicted, applied, verified, seen, unseen };

// How a prediction was made: a replay of the step, what a rule foretells from the recording, the most that a rule says it can give.
inline constexpr std::string_view kReplay = "replay", kProfile = "profile", kBound = "bound";

struct Record {
  Event event = Event::predicted;
  std::string time;  // UTC, "2026-11-21T10:23:00Z"
  std::string profile, kind, torch;
  std::string file;       // where the change belongs; empty where that is not known
  std::int64_t line = 0;  // from 0
  std::string method;     // of a prediction: kReplay, kProfile, kBound
  std::optional<lab::Ratio> ratio;
  std::vector<std::string> assumes;
  std::size_t pairs = 0;                    // of a verification
  Losses losses = Losses::unknown;          // of a verification
  std::string interval = {};                // of a prediction: lab::WhatIf::interval
  bool unsure = false;                      // the same
  std::vector<lab::SourceEdit> edits = {};  // of an applied change: what it replaced in the text that ran
  std::string after = {}, reason = {};      // of `seen` and `unseen`: the later profile; why it does not count
  Ns step_was{}, step{};                    // of `seen`: what both profiles measured
  Bytes peak_was{}, peak{};                 // of a replay; 0: not known
};

// Of a record that is made now.
std::string time_now();

// `.hotlens/ledger.jsonl` of the workspace that a bundle is in.
std::filesystem::path ledger_of(const std::filesystem::path& bundle);

Result<void> add(const std::filesystem::path& ledger, const Record& record);

struct Ledger {
  std::vector<Record> records;
  std::size_t unreadable = 0;  // lines
};
// An absent file is an empty ledger.
Result<Ledger> read_ledger(const std::filesystem::path& ledger);

}  // namespace hotlens::advice
