// What the profile says about one file, and what each of its anchors stands for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/features/features.h"
#include "server/features/lines/mark.h"

namespace hotlens::features {

// The meaning of one fact: which rows of the profile it points at.
struct Meaning {
  std::vector<profile::ModuleId> modules;  // definition, constructor, class: the instances; call: those called there
  std::int64_t calls = 0;                  // call and line: executions in one step
  std::uint32_t row = 0;  // call, line, stage, statement: index into Profile::call_sites, lines, stage_sites, Loop::statements
};

inline constexpr std::uint32_t kNoFact = 0xffffffff;

struct FileFacts {
  std::shared_ptr<const profile::Profile> profile;
  profile::FileId file;
  source::Anchors anchors;
  std::vector<Meaning> meanings;  // indexed by Fact::key
  // Per module of the profile:
  std::vector<std::uint32_t> call_places;  // how many expressions call it, in all files
  std::vector<std::uint32_t> definitions;  // the fact of its definition in this file, or kNoFact
  std::vector<Mark> marks = {};
};

// The profile's facts of `file`, before they are bound; pure. Facts and meanings have the same order.
struct Collected {
  std::vector<source::Fact> facts;
  std::vector<Meaning> meanings;
};
Collected collect(const profile::Profile& profile, profile::FileId file);

// Bound to the text that was executed; without marks.
std::shared_ptr<FileFacts> facts_of(std::shared_ptr<const profile::Profile> profile, profile::FileId file, const source::Tree& executed,
                                    Collected collected);

// The file of the profile that `path` names (links resolved); invalid when there is none.
profile::FileId find_file(const profile::Profile& profile, const std::filesystem::path& path);

// Where a line of the executed text stands now: the line itself where nothing is known of it, nullopt where nothing fits any more.
std::optional<std::uint32_t> line_now(const FileView& view, std::uint32_t executed);

}  // namespace hotlens::features
