// The profiles of the workspace over time: which one is shown, and what it is compared with.
//
// Choosing one shows it everywhere: hints, status, timeline; the lens says so. A new run shows its own profile again. A baseline lasts
// until it is cleared or its profile is gone: hints tell what changed beyond noise, and a layer that became slower is marked at its line.
// That of a bundle is kept for the next session in `.hotlens/state.json` of its folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/rpc.h"
#include "server/session/client.h"
#include "server/session/loop.h"
#include "server/session/store.h"
#include "server/session/workspace.h"

namespace hotlens::session {

class History {
 public:
  using Json = protocol::Json;
  struct Events {
    std::function<ProfileStore::Shared(const std::filesystem::path& file)> shown;  // by a file; may be null
    std::function<std::vector<std::filesystem::path>()> folders;                   // to look for profiles from
    std::function<void(const std::filesystem::path& bundle)> choose;               // empty: the newest
    std::function<void(const ProfileStore::Shared& baseline)> compare_with;        // null: nothing
    std::function<void()> changed;                                                 // what label() and the state say
  };

  History(Loop& loop, Client& client, Workspace& workspace, Events events)
      : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)) {}
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void list(const Json& params, protocol::Reply reply);  // the request
  void show(const Json& argument, protocol::Reply reply);
  void set_baseline(const Json& argument, protocol::Reply reply);
  void take_up();   // what was kept in folders that were not looked at yet
  void recorded();  // a run left a profile: that one is shown

  // What the lens says where this profile is shown: that it is an older one, and what it is compared with.
  std::string label(const std::string& profile) const;
  std::string chosen() const { return chosen_.filename().string(); }
  std::string baseline() const { return baseline_ ? baseline_->id : ""; }

  void mark();  // layers that became slower, in all open documents
  void closed(const std::string& uri) { client_.diagnose(uri, kPart, Json::array()); }

 private:
  static constexpr const char* kPart = "baseline";
  struct Place {
    std::filesystem::path bundle;
    bool newest = false;  // of its folder
  };

  void find(const std::string& profile, std::function<void(const std::optional<Place>&)> found);
  void choose(const std::filesystem::path& bundle);
  void keep();  // the baseline, for the next session
  void compare_with(const ProfileStore::Shared& baseline);
  void decide(const ProfileStore::Shared& baseline);  // somebody did: it is kept
  std::vector<std::filesystem::path> state_folders() const;
  Json marks(const Document& document) const;

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  std::filesystem::path chosen_;  // a bundle; empty: the newest
  ProfileStore::Shared baseline_;
  bool decided_ = false;  // about the baseline, in this session
  bool keeping_ = false, keep_again_ = false;
  std::set<std::filesystem::path> taken_up_;  // folders
};

}  // namespace hotlens::session
