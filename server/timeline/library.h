// The profiles that a timeline may show, opened when somebody looks at them.
//
// A timeline needs more than a Profile: the annotated trace, and one tree of blocks for every step that is looked at. They are built on
// first use, shared while they are used, and the one unused longest is dropped when too many are open. May be used from any thread; what it
// hands out is immutable. A profile that is gone from the disk stays what it was for who has it open; one that was written anew is read
// again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "annotator/blocks/blocks.h"
#include "annotator/ranks/read.h"
#include "server/features/timeline/counters.h"
#include "server/features/timeline/names.h"
#include "server/features/timeline/recording.h"
#include "server/features/timeline/threads.h"

namespace hotlens::timeline_requests {

// A profile as the list shows it, told without reading its trace.
struct Entry {
  std::string id;
  std::filesystem::path path;                  // bundle folder or trace file
  std::string source, created, torch, device;  // empty: not known
  std::optional<Ns> step;                      // median of the steps timed without a profiler
  // When it was last written; the smallest time where it is gone.
  std::filesystem::file_time_type written = std::filesystem::file_time_type::min();
};

// What stands below the tracks of a step.
struct StepLanes {
  features::HostThreads host;
  std::optional<features::Counter> memory, queue;
  std::int32_t memory_device = -1;  // negative: the host
  bool memory_of_map = false;       // of a bundle's map step, laid on this one
};

class Opened {
 public:
  Opened(std::string id, profile::Annotated annotated,
         const std::function<std::shared_ptr<const profile::Profile>(std::shared_ptr<const profile::Profile>)>& finish);

  const std::string& id() const { return id_; }
  const profile::Profile& profile() const { return *profile_; }
  const profile::Annotated& annotated() const { return *annotated_; }
  const features::StepNames& names() const { return names_.get(); }
  const features::Recording& recording() const { return recording_.get(); }
  const std::filesystem::path& path() const { return annotated_->path; }

  // Built on the first call for each step, which takes a while for a large trace.
  std::shared_ptr<const blocks::Blocks> blocks(std::size_t step) const;
  bool built(std::size_t step) const;                              // whether blocks() answers at once
  std::shared_ptr<const StepLanes> lanes(std::size_t step) const;  // likewise

 private:
  std::string id_;
  std::shared_ptr<const profile::Annotated> annotated_;
  std::shared_ptr<const profile::Profile> profile_;
  std::shared_future<features::StepNames> names_;      // found beside the first picture, which does not need them
  std::shared_future<features::Recording> recording_;  // made by the first who asks
  mutable std::mutex mutex_;
  template <class What>
  using BySteps = std::list<std::pair<std::size_t, std::shared_ptr<const What>>>;  // the last used first
  mutable BySteps<blocks::Blocks> blocks_;
  mutable BySteps<StepLanes> lanes_;
};

class Library {
 public:
  using Shared = std::shared_ptr<const Opened>;
  struct Sources {
    std::function<std::vector<std::filesystem::path>()> list;  // what may be shown, the one shown first in front; asked often
    // What is done to a profile before it is shown (guessed lines); may be null.
    std::function<std::shared_ptr<const profile::Profile>(std::shared_ptr<const profile::Profile>)> finish;
    std::vector<ranks::Source> together = {};  // what was named together: ranks of one run, where it turns out to be such
  };

  explicit Library(Sources sources) : sources_(std::move(sources)) {}

  // Newest first, but for those that do not tell when they were made, which come in the order of the list. Blocks on I/O.
  std::vector<Entry> profiles();
  // The id that is shown when none is asked for; empty where there is no profile.
  std::string current();
  // Blocks on I/O: one thread reads, others that ask for the same profile wait for it. `id` empty: the current one.
  Result<Shared> open(const std::string& id);
  // The ranks of the run that the profile is one of, read on the first call; null where it is of none, or they exchange nothing. Blocks on
  // I/O.
  std::shared_ptr<const ranks::Ranks> ranks_of(const Opened& opened);
  // The id of a profile in this list, by its path; empty where it is not there.
  std::string id_of(const std::filesystem::path& path);
  // The current profile where nothing has to be read for its first picture; null otherwise.
  Shared ready();
  void drop_all();  // nobody looks any more

 private:
  struct Slot {
    std::filesystem::path path;
    std::filesystem::file_time_type written;
    Shared opened;  // null while it is read
  };
  static bool is_current(const Slot& slot, const Entry& entry);  // read, and not written since
  std::vector<Entry> entries();

  Sources sources_;
  std::mutex mutex_;
  std::condition_variable read_;
  std::map<std::string, Entry> known_;  // by path and time of writing
  std::map<std::string, Slot> slots_;   // by id
  std::list<std::string> used_;         // ids, the last used first
  using ReadRanks = std::shared_future<std::shared_ptr<const ranks::Ranks>>;
  std::map<std::string, ReadRanks> ranks_;  // by path of a bundle with several; those named together under ""
};

}  // namespace hotlens::timeline_requests
