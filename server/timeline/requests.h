// One function for each request; params are checked by the time it is called, but for its own.
#pragma once

#include "protocol/reader.h"
#include "protocol/rpc.h"
#include "server/features/timeline/facts.h"
#include "server/timeline/library.h"

namespace hotlens::timeline_requests {

// What most requests are about.
struct Subject {
  Library::Shared opened;
  std::shared_ptr<const blocks::Blocks> blocks;
  std::size_t step = 0;
  std::uint32_t block = blocks::kStepBlock;
};

protocol::RpcError gone(const Error& error);

protocol::Answer profiles(Library& library);
protocol::Answer overview(Library& library, const Opened& opened);
protocol::Answer batch_sizes(const Opened& opened);
protocol::Answer what_ifs(const Opened& opened);
protocol::Answer recording(const Opened& opened, const protocol::Reader& params);
protocol::Answer text(Library& library, const protocol::Reader& params);
protocol::Answer compare(Library& library, const protocol::Reader& params);
protocol::Answer counterpart(Library& library, const Subject& subject, const protocol::Reader& params);
protocol::Answer level(const Subject& subject, const protocol::Reader& params);
protocol::Answer details(const Subject& subject, const protocol::Reader& params);
protocol::Answer lanes(Library& library, const Subject& subject, const protocol::Reader& params);
protocol::Answer arrows(const Subject& subject, const protocol::Reader& params);
protocol::Answer idle(const Subject& subject, const protocol::Reader& params);
protocol::Answer range(const Subject& subject, const protocol::Reader& params);
protocol::Answer range_of_recording(const Opened& opened, const protocol::Reader& params);
protocol::Answer call(const Subject& subject, const protocol::Reader& params);
protocol::Answer search(const Subject& subject, const protocol::Reader& params);
protocol::Answer breakdown(const Subject& subject, const protocol::Reader& params);
protocol::Answer export_window(const Subject& subject, const protocol::Reader& params);
protocol::Answer export_of_recording(const Opened& opened, const protocol::Reader& params);

// BLOCK of TIMELINE.md.
protocol::Json block_json(const blocks::Blocks& blocks, std::uint32_t block);
// `blocks`: those of the step that the verdict is of; evidence then leads to the first block of its module or stage. May be null.
protocol::Json verdict_json(const profile::Verdict& verdict, const profile::Profile& profile, const blocks::Blocks* blocks);
// The longest as KERNEL of TIMELINE.md under `key`, how many and how long the others are under `more`.
void put_uses(protocol::Json& answer, const char* key, const char* more, const std::vector<features::Use>& uses);
// The exchanges between processes below the block, where there are some.
void put_collectives(protocol::Json& details, const blocks::Blocks& blocks, std::uint32_t block);
// The arithmetic of a module, or of the step for an invalid one, by unique arguments, where the shapes are known: of the shown step alone.
void put_costs(protocol::Json& details, const Subject& subject, profile::ModuleId module);
// The part of a step that `lanes` tells, and the time of a pixel of it.
struct LaneWindow {
  Ns from{}, to{}, pixel{};
};
// The ranks of the run that the profile is one of, where it is one of several.
void put_ranks(protocol::Json& answer, Library& library, const Subject& subject, const LaneWindow& view);
// {id, source, created?, torch?}
protocol::Json profile_json(const std::string& id, const profile::Profile& profile);

}  // namespace hotlens::timeline_requests
