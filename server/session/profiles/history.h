// The profiles of the workspace over time: which one is shown, and what it is compared with. Each workspace folder has its own (homes.h).
//
// Choosing one shows it everywhere in its folder: hints, status, timeline; the lens says so. A new run there shows its own profile again. A
// baseline lasts until it is cleared or its profile is gone: hints tell what changed beyond noise, and a layer that became slower is marked
// at its line. That of a bundle is kept for the next session in `.hotlens/state.json` of its folder.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/reader.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/profiles/store.h"

namespace hotlens::session {

class History {
 public:
  using Json = protocol::Json;
  struct Events {
    std::function<ProfileStore::Shared(const std::filesystem::path& file)> shown;  // by a file; may be null
    std::function<std::vector<std::filesystem::path>()> folders;                   // to look for profiles from
    // In a workspace folder. Empty: the newest.
    std::function<void(const std::filesystem::path& home, const std::filesystem::path& bundle)> choose;
    std::function<void(const std::filesystem::path& home, const ProfileStore::Shared& baseline)> compare_with;  // null: nothing
    std::function<void()> changed;  // what label() and the state say
  };

  History(Loop& loop, Client& client, Workspace& workspace, Events events)
      : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)) {}
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void list(const Json& params, protocol::Reply reply);  // the request
  void show(const Json& argument, protocol::Reply reply);
  void set_baseline(const Json& argument, protocol::Reply reply);
  void take_up();                                      // what was kept in folders that were not looked at yet
  void recorded(const std::filesystem::path& bundle);  // a run left a profile: that one is shown

  // What the lens of a document says: that its profile is an older one, and what it is compared with.
  std::string label(const Document& document) const;
  // Of the folder whose choices hold for a file; "" where there is none.
  std::string chosen(const std::filesystem::path& file) const { return chosen_in(home(file)).filename().string(); }
  std::string baseline(const std::filesystem::path& file) const;

  void mark();  // layers that became slower, in all open documents
  void closed(const std::string& uri) { client_.diagnose(uri, kPart, Json::array()); }

 private:
  static constexpr const char* kPart = "baseline";
  struct Place {
    std::filesystem::path bundle;
    bool newest = false;  // of its folder
  };
  // What a command is about: a profile, or what the file shows.
  struct Asked {
    std::string profile;  // empty: not named
    std::optional<std::filesystem::path> file;
  };
  static Asked read_asked(const protocol::Reader& reader);
  std::filesystem::path home(const std::filesystem::path& file) const;
  std::filesystem::path home_of_bundle(const std::filesystem::path& bundle, const Asked& asked) const;
  std::filesystem::path chosen_in(const std::filesystem::path& home) const;
  ProfileStore::Shared baseline_in(const std::filesystem::path& home) const;

  void find(const std::string& profile, std::function<void(const std::optional<Place>&)> found);
  void show_newest(const Asked& asked);
  void clear_baseline(const Asked& asked);
  void choose(const std::filesystem::path& home, const std::filesystem::path& bundle);
  void keep();  // the baselines that were decided, for the next session
  void compare_with(const std::filesystem::path& home, const ProfileStore::Shared& baseline);
  void decide(const std::filesystem::path& home, const ProfileStore::Shared& baseline);  // somebody did: it is kept
  std::vector<std::filesystem::path> state_folders() const;
  std::vector<std::filesystem::path> in_home(std::vector<std::filesystem::path> folders, const std::filesystem::path& home) const;
  Json marks(const Document& document) const;

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  // By home.
  std::map<std::filesystem::path, std::filesystem::path> chosen_;  // bundles; absent: the newest
  std::map<std::filesystem::path, ProfileStore::Shared> baselines_;
  std::set<std::filesystem::path> decided_, to_keep_;  // about the baseline, in this session
  bool keeping_ = false;
  std::set<std::filesystem::path> taken_up_;  // folders
};

}  // namespace hotlens::session
