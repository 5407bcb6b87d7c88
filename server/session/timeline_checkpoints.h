// Blocks to checkpoint in the timeline: a choice that was replayed, written into the script as one edit, which one undo takes back.
#pragma once

#include <memory>

#include "protocol/rpc.h"
#include "server/session/client.h"
#include "server/session/loop.h"
#include "server/session/workspace.h"
#include "server/timeline/library.h"

namespace hotlens::session {

// A reply that adds to the answer to `hotlens/timeline/whatIfs` whether the edit can be made here.
protocol::Reply with_edits(protocol::Reply reply, const Client& client, const Workspace& workspace);

// `hotlens/timeline/setCheckpoints`: {applied, message?}. Only what was replayed of the profile, only in a trusted workspace, since the
// files of the profile are read, and only in files that are open or in the workspace. Nothing is written where a text is no longer the one
// that ran.
void set_checkpoints(Loop& loop, Client& client, Workspace& workspace, std::shared_ptr<timeline_requests::Library> library,
                     const protocol::Json& params, protocol::Reply reply);

}  // namespace hotlens::session
