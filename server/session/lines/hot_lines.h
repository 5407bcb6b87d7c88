// Where the time is spent, over all files of the workspace: the list, the way to the next line of it, and the word after a run.
//
// The numbers are those of the hints: open documents as they are shown, other files as they are on the disk, read on the pool.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/lines/hot_search.h"
#include "server/session/profiles/store.h"

namespace hotlens::session {

class HotLines {
 public:
  using Json = protocol::Json;
  // The profile that a file shows; may be null.
  using Shown = std::function<ProfileStore::Shared(const std::filesystem::path& file)>;

  HotLines(Loop& loop, Client& client, Workspace& workspace, Shown shown)
      : loop_(loop), client_(client), workspace_(workspace), shown_(std::move(shown)) {}
  HotLines(const HotLines&) = delete;
  HotLines& operator=(const HotLines&) = delete;

  void list(const Json& params, protocol::Reply reply);  // the request
  void go(const Json& argument, protocol::Reply reply);  // the command
  // After a run. `first` of the script: the hottest line is shown at once, without the focus.
  void announce(const std::string& script, const std::string& uri, bool first);

 private:
  struct Found {
    ProfileStore::Shared profile;  // null: none is shown
    std::vector<HotPlace> lines;
  };

  void find(const std::filesystem::path& file, std::function<void(Found)> found);
  std::string place_of(const HotPlace& line);
  std::string uri_of(const HotPlace& line);
  void show(const HotPlace& line, bool focus = true);
  Json json_of(const HotPlace& line);

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Shown shown_;
};

}  // namespace hotlens::session
