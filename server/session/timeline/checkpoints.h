// Blocks to checkpoint in the timeline: a choice that was replayed, written into the script as one edit, which one undo takes back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/timeline/library.h"

namespace hotlens::session {

// A reply that adds to the answer to `hotlens/timeline/whatIfs` whether the edit can be made here.
protocol::Reply with_edits(protocol::Reply reply, const Client& client, const Workspace& workspace);

// The same: whether the choices can be replayed from here ("offered"), are being replayed ("running"), or neither ("none").
using PlanOf = std::function<std::string(const std::string& profile)>;
protocol::Reply with_plan(protocol::Reply reply, const PlanOf& plan);

// Where they are planned for a page that cannot.
inline constexpr std::string_view kPlanInEditor = "Choices of blocks are replayed in a terminal, or from the timeline beside the code.";

// `hotlens/timeline/setCheckpoints`: {applied, message?}. Only what was replayed of the profile, only in a trusted workspace, since the
// files of the profile are read, and only in files that are open or in the workspace. Nothing is written where a text is no longer the one
// that ran.
void set_checkpoints(Loop& loop, Client& client, Workspace& workspace, std::shared_ptr<timeline_requests::Library> library,
                     const protocol::Json& params, protocol::Reply reply);

}  // namespace hotlens::session
