// What the tools answer that need no process of their own: pure functions of a folder and of the tool's arguments.
//
// Every answer fits a context window: lists are cut at `limit` and say how long they were. Lines are 1-based here, as agents count them;
// files are named relative to the folder. The shapes are those of the output schemas (tools.cpp). They read files: call them on the pool.
#pragma once

#include "protocol/json.h"
#include "protocol/rpc.h"
#include "server/mcp/profiles.h"

namespace hotlens::mcp {

using protocol::Json;

// Arguments that cannot be read: the agent's mistake.
Error wrong(const protocol::RpcError& error);

Result<Json> report(const Folder& folder, const Json& arguments);
Result<Json> hot_lines(const Folder& folder, const Json& arguments);
Result<Json> check(const Folder& folder, const Json& arguments);
Result<Json> diff(const Folder& folder, const Json& arguments);

// After a run: what the new profile says first.
Result<Json> profiled(const Folder& folder, const std::filesystem::path& bundle);

// What `hotlens predict` and `hotlens whatif` print, without what no agent needs, lines counted from 1.
Result<Json> predicted(const std::string& printed);
Result<Json> what_if(const Folder& folder, const std::string& printed);

// For the client's list, newest first, and the text of one.
Result<Json> resources(const Folder& folder);
Result<std::string> resource_text(const Folder& folder, const std::string& uri);

}  // namespace hotlens::mcp
