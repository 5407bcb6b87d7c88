// The newest profile of every place that matters, kept up to date from disk.
//
// A place is a folder to look from: a workspace folder or the folder of an open document. Looking (which bundle is the newest there?) and
// loading run on the pool; `changed` comes on the strand when a place shows another profile than before. A profile stays in use until the
// next one is completely loaded, and a bundle that cannot be read is complained about once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/profile/profile.h"
#include "server/session/client/loop.h"

namespace hotlens::session {

class ProfileStore {
 public:
  using Shared = std::shared_ptr<const profile::Profile>;
  struct Events {
    std::function<void()> changed;                   // a place shows another profile
    std::function<void()> settled;                   // nothing is being looked for or loaded any more
    std::function<void(const Error& error)> failed;  // a bundle could not be read
  };

  ProfileStore(Loop& loop, Events events);

  // Workspace folders stay until they are removed; what a file's folder shows is forgotten with the last place() below it.
  void set_places(std::set<std::filesystem::path> workspace, std::set<std::filesystem::path> documents);

  // Shows this trace or bundle before the others of a workspace folder (home_of; empty: before all others); lines that it does not record
  // are guessed from the sources below `roots`, which is asked for them on the pool, and `files`. An empty path: nothing but bundles again.
  void open(const std::filesystem::path& home, const std::filesystem::path& trace,
            std::function<std::vector<std::filesystem::path>()> roots, std::vector<std::filesystem::path> files);

  // Which rank of a bundle with several is shown; a bundle without it shows the one that wrote it, and failed() says so.
  void choose_rank(std::optional<std::int64_t> rank);

  void look();        // for newer bundles, now
  void look_again();  // also at bundles that could not be read
  bool busy() const { return looking_ || loading_ > 0; }
  bool known() const { return known_; }  // the first look and its loads are over

  // What a file may show, best first: what was opened for its workspace folder, the profile found from its own folder, those of the
  // workspace `folders`, its own first, then any other.
  std::vector<Shared> candidates(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders) const;

 private:
  using Found = std::map<std::filesystem::path, std::filesystem::path>;  // place -> bundle
  void found(const Found& bundles);
  void load(const std::filesystem::path& bundle);
  struct Loaded {
    std::optional<std::int64_t> rank;  // that was asked for
    Result<Shared> profile;
    std::optional<Error> without_rank;  // why another one is shown
  };
  static Loaded read(const std::filesystem::path& bundle, std::optional<std::int64_t> rank);
  void loaded(const std::filesystem::path& bundle, Loaded done);
  bool adopt();
  void settle();
  struct Opened {
    std::filesystem::path trace;  // asked for by open()
    Shared profile;               // what it holds; null: not read yet
  };
  void opened(const std::filesystem::path& home, const std::filesystem::path& trace, Result<Shared> result);

  Loop& loop_;
  Events events_;
  std::set<std::filesystem::path> workspace_, documents_;
  std::optional<std::int64_t> rank_;
  Found newest_;                                      // as last seen on disk
  std::map<std::filesystem::path, Shared> profiles_;  // bundle -> profile
  std::map<std::filesystem::path, Shared> shown_;     // place -> profile
  std::set<std::filesystem::path> in_flight_, unreadable_;
  std::map<std::filesystem::path, Opened> opened_;  // by home
  int loading_ = 0;
  bool looking_ = false, again_ = false, known_ = false;
  bool freed_ = false;  // what reading took, since memory was given back last
};

}  // namespace hotlens::session
