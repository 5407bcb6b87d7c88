// One step as a tree of blocks on tracks: what a timeline draws, from the step down to a kernel.
//
// A block is the step, a stage, a module call, an operator, a launch, a kernel, or a fold of equal neighbours. It has spans on every track
// that took part in it: what its launches made the device do hangs below the operator that launched it, so the spans of one block on host
// and device lie on one time axis. The tree comes from the account (annotator/attribution/account/account.h), so a span lasts exactly as
// long as the pieces of time that belong to the block: spans of a track never overlap, a device span ends where its stream has nothing to
// run, kernels that overlap on one stream lie on lanes of their own.
//
// Autograd runs the node X inside "autograd::engine::evaluate_function: X", sometimes twice. That is one block, called X.
//
// In a run without device work the main thread's waiting for an exchange with other processes is a block of its own (`exchange`).
//
// Beside the step's own work, device work of earlier steps that reaches into it hangs below one block of kind `earlier`. Built once,
// immutable. Cost: a few linear passes over the step's events times their depth; about 130 bytes per event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/build/annotated.h"
#include "annotator/profile/build/spans.h"

namespace hotlens::blocks {

constexpr std::uint32_t kNoBlock = attribution::kNothing;
constexpr std::uint32_t kStepBlock = 0;  // the root of every tree

struct Block {
  enum class Kind : std::uint8_t { step, stage, earlier, module, op, launch, kernel, copy, communication, exchange, wait, idle, fold };
  Kind kind = Kind::step;
  attribution::Stage stage = attribution::Stage::other;
  attribution::Direction direction = attribution::Direction::forward;
  std::uint32_t id = 0;             // Stage, module call, node of the forest, position in Account::work, event, or a fold's first block
  std::uint32_t parent = kNoBlock;  // may be a fold
  std::uint32_t label = 0;          // equal for equal names
  std::uint32_t ordinal = 0;        // among the neighbours of equal label, from 0
  std::uint32_t members = 1;        // blocks that a fold stands for
  Ns first{}, last{};               // its extent over all tracks, after the start of the step
  Ns host{}, device{};              // sums of its spans
  Ns waiting{};                     // part of `host` in which the host waits for the device
};

struct BlockTrack {
  enum class Kind : std::uint8_t { host, device, communication };
  Kind kind = Kind::host;
  std::string id, name;  // "CPU main", "GPU 0 stream 7"; an id tells tracks of one step apart
  std::string device;    // of device work: its number as the trace has it; empty for a host track
};

// A stretch of the critical path, and the innermost block on which it lies.
struct PathSpan {
  Ns start{}, end{};               // after the start of the step
  std::uint32_t block = kNoBlock;  // of work that is waited for: that work; kNoBlock where it is of another step
  bool queued = false;             // the device idles although the work is launched
};

// The spans of a block's children on one track: positions in Blocks::span_*, by start.
struct BlockGroup {
  std::uint32_t track = 0;
  std::uint32_t begin = 0, end = 0;
};

// What is asked about everything below a block, answered without walking there. What is below a block has ranks one after the other, the
// block itself first; work of earlier steps ranks last and is below nothing but its own block.
struct BlockIndex {
  struct Ranks {
    std::uint32_t begin = 0, end = 0;

    bool hold(std::uint32_t rank) const { return rank >= begin && rank < end; }
  };
  // The blocks of one kind and label.
  struct Name {
    Block::Kind kind = Block::Kind::step;
    std::uint32_t label = 0;
    std::uint32_t begin = 0, end = 0;  // into name_rank
    Ns host{}, device{};               // sums
  };
  struct Sum {
    std::uint32_t first = kNoBlock;  // by rank; kNoBlock where there is none
    std::int64_t calls = 0;
    Ns own{};  // of operators without the operators inside; of device work its time
  };

  std::vector<Ranks> ranks;               // by block; a fold's are its members'
  std::vector<std::uint32_t> by_rank;     // folds have no rank of their own
  std::vector<Name> names;                // by label, then kind; folds left out
  std::vector<std::uint32_t> name_rank;   // by name, ascending
  std::vector<Ns> name_own;               // sums of own time up to an entry of name_rank, and one more
  std::vector<Ns> device;                 // by block: how long the device works on what is below; work that overlaps counts once
  std::uint32_t first_work = 0;           // position in Account::work
  std::vector<std::uint32_t> work_block;  // by position from there on; kNoBlock for work that is not in this tree

  const Name* named(Block::Kind kind, std::uint32_t label) const;  // null where there is none
  Sum sum(const Name& name, Ranks below) const;                    // O(log of the name's blocks)
  std::uint32_t block_of_work(std::uint32_t work) const;           // kNoBlock where it is not in this tree
};

struct Blocks {
  std::shared_ptr<const profile::Annotated> annotated;
  std::size_t step = 0;
  Ns start{}, wall{};  // of the step, while its host runs; start after trace.base
  Ns takes{};          // the wall, and where the host gets ahead of its device until that has caught up
  std::vector<BlockTrack> tracks;
  std::vector<Block> blocks;                                        // parents before children, but for folds, which come last
  std::uint32_t labels = 0;                                         // every Block::label is below it
  std::vector<std::uint32_t> span_block;                            // by span
  std::vector<Block::Kind> span_kind;                               // of its block: what a pass over all spans reads of them
  std::vector<Ns> span_start, span_end;                             // after the start of the step
  std::vector<BlockGroup> groups;                                   // those of one block together
  std::vector<std::uint32_t> group_of;                              // by block, and one more: its groups
  std::vector<std::uint32_t> child_of, children;                    // by block, and one more: what is directly inside it, folds left out
  std::map<std::string, std::vector<attribution::Interval>> gaps;   // by device: when all of it idles, be it of other steps' work
  std::vector<std::vector<std::uint32_t>> waits;                    // by track: spans in which the host waits for the device, by start
  std::map<std::string, std::vector<attribution::Interval>> other;  // by device: when it works on anything but communication
  std::vector<std::uint32_t> communication;                         // blocks of this kind, by start
  std::vector<attribution::Interval> exchanges, exchange_waits;     // of a run without device work: all, and when the main thread waits
  std::map<std::uint32_t, std::uint32_t> lifted;                    // by stage: the model that is all there is inside it
  std::vector<PathSpan> path;                                       // of a run with device work: the step's critical path, in order
  std::vector<profile::ModuleName> modules;                         // by module number
  BlockIndex index;

  std::span<const BlockGroup> groups_below(std::uint32_t block) const;
  std::span<const std::uint32_t> below(std::uint32_t block) const;  // folds left out; of a fold what it stands for is below its parent
  bool opens(std::uint32_t block) const { return !groups_below(block).empty(); }
};

// `step` is a position in Account::steps.
std::shared_ptr<const Blocks> blocks_of(std::shared_ptr<const profile::Annotated> annotated, std::size_t step);

// What a person calls the block: "layer1", "0 BasicBlock", "aten::addmm", a kernel's short name. At most 200 bytes of UTF-8.
std::string label_of(const Blocks& blocks, std::uint32_t block);
// The name as the trace has it: module path, operator, kernel.
std::string name_of(const Blocks& blocks, std::uint32_t block);
// What autograd's "evaluate_function: X" evaluates; empty for any other name.
std::string_view evaluated(std::string_view name);
// What gives the block its colour: a stage's name, "communication", "waiting", "idle", "earlier_step".
std::string_view colour_of(const Block& block);
std::string_view name(Block::Kind kind);

// Paths: the segments that lead from the step to a block. They are made of names and survive another reading of the trace, and often
// another step or run; a path that leads through a fold may also leave the fold out. What is inside a lifted model follows its stage: a
// stage that holds one model and nothing else costs no level of its own.
std::string segment_of(const Blocks& blocks, std::uint32_t block);
// The step, then the blocks that the path's segments name, `block` last.
std::vector<std::uint32_t> way_to(const Blocks& blocks, std::uint32_t block);
std::vector<std::string> path_of(const Blocks& blocks, std::uint32_t block);
std::optional<std::uint32_t> find_block(const Blocks& blocks, std::span<const std::string> path);

// The blocks a fold stands for, in order of time; empty for every other block.
std::vector<std::uint32_t> folded(const Blocks& blocks, std::uint32_t fold);

}  // namespace hotlens::blocks
