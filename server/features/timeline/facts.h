// What the side panel says about one block of a step: its times, what it ran, where it stands in the code, what it launched.
//
// Pure functions over Blocks and the Profile of the same trace. Times of a module's directions are the profile's, so they are what hints
// and reports say; times of the one block are sums over its own spans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/blocks/blocks.h"

namespace hotlens::features {

constexpr std::size_t kMaxArrows = 200;

// The profile's module that the block runs (of a fold: the first one's); invalid for every other block.
profile::ModuleId module_of(const blocks::Blocks& blocks, const profile::Profile& profile, std::uint32_t block);

struct BlockTimes {
  Ns host{}, host_self{};  // self: without child blocks of the same kind
  Ns device{};             // union over streams
  Ns waiting{};
  Ns span{};  // first start to last end
};
BlockTimes times_of(const blocks::Blocks& blocks, std::uint32_t block);

// What ran below the block on the device; where nothing did, its operators by their own time.
struct Use {
  std::string name;
  bool device = false;
  std::int64_t calls = 0;
  Ns time{};
};
std::vector<Use> uses_of(const blocks::Blocks& blocks, std::uint32_t block);  // longest first

// Places in the text that was executed.
struct Place {
  enum class What : std::uint8_t { definition, call, type, stage };
  What what = What::definition;
  profile::Site site;
};
std::vector<Place> places_of(const blocks::Blocks& blocks, const profile::Profile& profile, std::uint32_t block);
std::string_view name(Place::What what);

// What limits a module, or the representative step; absent for every other block.
std::optional<profile::Verdict> verdict_of(const blocks::Blocks& blocks, const profile::Profile& profile, std::uint32_t block);

// How often the step runs what has this block's name.
std::int64_t calls_of(const blocks::Blocks& blocks, std::uint32_t block);

// From a launch to its work, in order of the work.
struct Arrow {
  std::string launch_track, device_track;  // ids of tracks
  Ns launch{};                             // start of the launch, after the start of the step
  Ns start{}, end{};                       // of the work
  Ns delay{};                              // from the end of the launch to the start of the work; 0 where it began before
  std::uint32_t work = 0;                  // its block
};
struct Arrows {
  std::vector<Arrow> arrows;  // at most kMaxArrows, of more of them every second, third, …
  std::size_t total = 0;
};
// Those with an end within the window, after the start of the step.
Arrows arrows_of(const blocks::Blocks& blocks, std::uint32_t block, Ns from, Ns to);

// The input shapes of an operator, as the trace has them; empty where it does not tell.
std::string_view shapes_of(const blocks::Blocks& blocks, std::uint32_t block);

// The first block of a module (by path) or of a stage, what the cursor in an editor stands for.
std::optional<std::uint32_t> first_of_module(const blocks::Blocks& blocks, std::string_view path);
std::optional<std::uint32_t> first_of_stage(const blocks::Blocks& blocks, profile::Stage stage);

}  // namespace hotlens::features
