// Which profile each document shows: looking for the newest ones, and binding documents to them.
//
// Binding runs on the pool on snapshots; a document keeps what it shows until all of them are done. Where the workspace is not trusted, a
// profile may have no file read that lies outside it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "server/session/client/conversation.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/profiles/store.h"

namespace hotlens::session {

class ShownProfiles {
 public:
  struct Events {
    std::function<void()> changed;                   // a place shows another profile
    std::function<void()> bound;                     // documents show something else than before
    std::function<void()> settled;                   // nothing is looked for, loaded or bound any more
    std::function<void(const Error& error)> failed;  // a profile could not be read
  };

  ShownProfiles(Loop& loop, Workspace& workspace, const Log& log, Events events);
  ShownProfiles(const ShownProfiles&) = delete;
  ShownProfiles& operator=(const ShownProfiles&) = delete;

  void start();  // looks, again and again
  void stop() { poll_ = {}; }
  void look() { store_.look(); }
  void look_again() { store_.look_again(); }  // also at what could not be read
  void follow_places();                       // folders or documents changed
  void follow_settings(const Settings& before);

  // Shows this bundle before the others of a workspace folder (home_of), until the next call; empty: the newest again.
  void choose(const std::filesystem::path& home, const std::filesystem::path& bundle);
  // What documents that show a profile of this folder are compared with; null: nothing.
  void compare_with(const std::filesystem::path& home, const ProfileStore::Shared& baseline);

  void opened(Document& document);
  void bind_all();
  void bind_unknown();  // documents that no profile said anything about

  // Whether hints of the document may still come without anybody's doing.
  bool is_expected(const Document& document) const;
  bool loading() const { return !store_.known() || store_.busy(); }
  std::vector<ProfileStore::Shared> candidates(const std::filesystem::path& file) const {
    return store_.candidates(file, workspace_.folders);
  }

 private:
  struct Job;
  void poll();
  void open_trace(const std::filesystem::path& home);  // that somebody chose there, or the settings name for all
  std::filesystem::path trace_of(const std::filesystem::path& home) const;
  void bind(const std::vector<Document*>& documents);
  void bound(Result<std::vector<Job>> done);
  void settle();

  Loop& loop_;
  Workspace& workspace_;
  const Log& log_;
  Events events_;
  ProfileStore store_;
  std::map<std::filesystem::path, std::filesystem::path> chosen_;    // by home
  std::map<std::filesystem::path, ProfileStore::Shared> baselines_;  // the same
  Loop::Timer poll_;
  bool started_ = false;
  int binding_ = 0;
};

}  // namespace hotlens::session
