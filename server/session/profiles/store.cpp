#include "server/session/profiles/store.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "annotator/guess/match/guess_lines.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/session/profiles/homes.h"

namespace hotlens::session {
namespace fs = std::filesystem;

namespace {

// Reading a trace needs many times what the profile keeps; without asking, the allocator would hold on to it for the rest of the session.
void return_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

ProfileStore::ProfileStore(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}

void ProfileStore::set_places(std::set<fs::path> workspace, std::set<fs::path> documents) {
  workspace_ = std::move(workspace);
  documents_ = std::move(documents);
  std::erase_if(shown_, [&](const auto& entry) { return !workspace_.contains(entry.first) && !documents_.contains(entry.first); });
}

void ProfileStore::choose_rank(std::optional<std::int64_t> rank) {
  if (std::exchange(rank_, rank) == rank) return;
  profiles_.clear();
  if (!newest_.empty()) look_again();
}

void ProfileStore::look_again() {
  unreadable_.clear();
  look();
}

void ProfileStore::look() {
  if (std::exchange(looking_, true)) {
    again_ = true;
    return;
  }
  std::set<fs::path> places = workspace_;
  places.insert(documents_.begin(), documents_.end());
  auto latest = [places = std::move(places)] {
    Found bundles;
    for (const fs::path& place : places) {
      if (auto bundle = profile::resolve("latest", place)) bundles.emplace(place, std::move(*bundle));
    }
    return bundles;
  };
  loop_.work(std::move(latest), [this](Result<Found> bundles) { found(bundles ? *bundles : newest_); });
}

void ProfileStore::open(const fs::path& home, const fs::path& trace, std::function<std::vector<fs::path>()> roots,
                        std::vector<fs::path> files) {
  if (trace.empty()) {
    const auto left = opened_.extract(home);
    if (left && left.mapped().profile) events_.changed();
    return;
  }
  opened_[home].trace = trace;
  ++loading_;
  auto read = [trace, roots = std::move(roots), files = std::move(files)] {
    auto result = profile::load(trace);
    if (result) result = guess::guess_lines(*result, roots(), files);
    return result;
  };
  loop_.work(std::move(read), [this, home, trace](Result<Shared> result) { opened(home, trace, std::move(result)); });
}

void ProfileStore::opened(const fs::path& home, const fs::path& trace, Result<Shared> result) {
  --loading_;
  freed_ = true;
  const auto asked = opened_.find(home);
  const bool wanted = asked != opened_.end() && asked->second.trace == trace;
  if (wanted && result) {
    asked->second.profile = std::move(*result);
    events_.changed();
  } else if (wanted) {
    events_.failed(result.error());
  }
  settle();
}

void ProfileStore::found(const Found& bundles) {
  looking_ = false;
  newest_ = bundles;
  for (const auto& [place, bundle] : bundles) {
    if (!profiles_.contains(bundle) && !unreadable_.contains(bundle)) load(bundle);
  }
  if (adopt()) events_.changed();
  if (std::exchange(again_, false)) look();
  settle();
}

void ProfileStore::load(const fs::path& bundle) {
  if (!in_flight_.insert(bundle).second) return;
  ++loading_;
  auto job = [bundle, rank = rank_] { return read(bundle, rank); };
  loop_.work(std::move(job), [this, bundle, rank = rank_](Result<Loaded> done) {
    loaded(bundle, done ? std::move(*done) : Loaded{rank, std::unexpected(done.error()), std::nullopt});
  });
}

ProfileStore::Loaded ProfileStore::read(const fs::path& bundle, std::optional<std::int64_t> rank) {
  Loaded done{rank, profile::load(bundle, std::nullopt, rank), std::nullopt};
  if (rank && !done.profile && done.profile.error().code == ErrorCode::usage) {
    done.without_rank = done.profile.error();
    done.profile = profile::load(bundle);
  }
  return done;
}

void ProfileStore::loaded(const fs::path& bundle, Loaded done) {
  --loading_;
  freed_ = true;
  in_flight_.erase(bundle);
  if (done.rank != rank_) return load(bundle);
  if (done.profile) {
    profiles_[bundle] = std::move(*done.profile);
    if (done.without_rank) events_.failed(*done.without_rank);
  } else {
    unreadable_.insert(bundle);
    events_.failed(done.profile.error());
  }
  if (adopt()) events_.changed();
  settle();
}

// Shows what is loaded by now and forgets what nobody shows. True when a place changed.
bool ProfileStore::adopt() {
  bool changed = false;
  for (const auto& [place, bundle] : newest_) {
    const auto profile = profiles_.find(bundle);
    if (profile == profiles_.end()) continue;
    Shared& shown = shown_[place];
    changed = changed || shown != profile->second;
    shown = profile->second;
  }
  std::erase_if(profiles_, [&](const auto& entry) {
    return std::ranges::none_of(shown_, [&](const auto& place) { return place.second == entry.second; });
  });
  return changed;
}

void ProfileStore::settle() {
  if (busy()) return;
  known_ = true;
  if (std::exchange(freed_, false)) loop_.work(return_freed_memory, [](const Result<void>&) {});
  events_.settled();
}

std::vector<ProfileStore::Shared> ProfileStore::candidates(const fs::path& file, const std::vector<fs::path>& folders) const {
  std::vector<Shared> list;
  const auto add = [&](const Shared& profile) {
    if (profile && std::ranges::find(list, profile) == list.end()) list.push_back(profile);
  };
  const auto add_opened = [&](const fs::path& home) {
    if (const auto found = opened_.find(home); found != opened_.end()) add(found->second.profile);
  };
  const auto add_place = [&](const fs::path& place) {
    const auto found = shown_.find(place);
    if (found == shown_.end()) return;
    add_opened(home_of(folders, file, found->second->folder));
    add(found->second);
  };
  const fs::path home = home_of(folders, file);
  add_opened(home);
  add_opened({});
  add_place(file.parent_path());
  add_place(home);
  for (const fs::path& folder : folders) {
    add_opened(folder);
    add_place(folder);
  }
  for (const fs::path& folder : workspace_) add_place(folder);
  std::vector<Shared> others;
  others.reserve(shown_.size());
  for (const auto& [place, profile] : shown_) others.push_back(profile);
  std::ranges::stable_sort(others, std::ranges::greater{}, [](const Shared& profile) { return profile->created; });
  for (const Shared& profile : others) add(profile);
  return list;
}

}  // namespace hotlens::session
