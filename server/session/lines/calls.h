// Where a layer is made and called, over all files of the workspace; and what is known of a line, to be copied.
//
// Open documents are as they are shown, other files as they are on the disk, read on the pool.
#pragma once

#include <functional>

#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

class Calls {
 public:
  Calls(Loop& loop, Client& client, Workspace& workspace) : loop_(loop), client_(client), workspace_(workspace) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void list(const protocol::Json& argument, protocol::Reply reply);  // the command

 private:
  std::string uri_of(const std::filesystem::path& file) const;

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
};

}  // namespace hotlens::session
