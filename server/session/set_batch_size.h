// The batch size that somebody chose in the timeline, written into the script: one edit of exactly the number, which one undo takes back.
#pragma once

#include "protocol/rpc.h"
#include "server/session/client.h"
#include "server/session/loop.h"
#include "server/session/workspace.h"

namespace hotlens::session {

// `hotlens/timeline/setBatchSize`: {applied, message?}. What the client has open is edited in the version that it has; of another file of
// the workspace the text is read from the disk. Nothing is written where the text does not set the size any more that was measured.
void set_batch_size(Loop& loop, Client& client, Workspace& workspace, const protocol::Json& params, protocol::Reply reply);

}  // namespace hotlens::session
