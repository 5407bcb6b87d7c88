// The blocks of one track as they are told, whoever draws them: the page gets them as columns (server/timeline/columns.h), text is drawn
// from them (server/text). Words as in protocol/TIMELINE.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/features/timeline/level.h"
#include "server/features/timeline/overlap.h"
#include "server/features/timeline/path.h"
#include "server/features/timeline/recording.h"

namespace hotlens::features {

// Different texts, each with its position in a list.
class Texts {
 public:
  std::uint32_t at(std::string_view text);
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::uint32_t> positions_;
  std::vector<std::string> list_;
};

struct ShownBlock {
  Ns start{}, duration{};
  std::uint32_t label = 0;  // into ShownTrack::labels
  std::string_view kind, stage;
  int direction = 0;
  std::uint32_t count = 1;
  Ns busy{}, whole{}, waiting{};
  std::uint32_t spans = 1;
  std::string segment;                     // empty: cannot be chosen
  bool open = false;                       // has a level of its own
  std::uint32_t block = blocks::kNoBlock;  // of a step; kNoBlock where it cannot be chosen
};

struct ShownTrack {
  std::string id, name;
  std::string_view kind;
  Ns busy{};
  std::vector<std::string> labels;
  std::vector<ShownBlock> blocks;  // by start
};

ShownTrack shown(const blocks::Blocks& blocks, const LevelTrack& track);
ShownTrack shown(const Overlap& overlap);
ShownTrack shown(const blocks::Blocks& blocks, const PathRow& row);
// A block's segment is the position of the step that it leads to.
ShownTrack shown(const Recording& recording, const RecordingView::Track& track, const profile::Profile& profile);

// What a block is called on the way to another: its label, and of a stage that holds one model the model's.
std::string crumb_of(const blocks::Blocks& blocks, std::uint32_t block);

}  // namespace hotlens::features
