#include "server/timeline/library.h"

#include <algorithm>

#include "annotator/common/attempt.h"

namespace hotlens::timeline_requests {
namespace fs = std::filesystem;

namespace {

// A trace with its blocks takes a few hundred bytes an event.
constexpr std::size_t kMaxOpened = 4;
constexpr std::size_t kMaxSteps = 4;  // of one profile

// When the file that says what the profile is was last written; the smallest time where it is gone.
fs::file_time_type written(const fs::path& path) {
  std::error_code error;
  const fs::path file = fs::is_directory(path, error) ? path / "manifest.json" : path;
  const fs::file_time_type time = fs::last_write_time(file, error);
  return error ? fs::file_time_type::min() : time;
}

Entry entry_of(const fs::path& path) {
  std::error_code error;
  Entry entry{.id = path.filename().string(), .path = path, .source = path.string()};
  if (!fs::is_directory(path, error)) return entry;
  const Result<profile::Manifest> manifest = profile::read_manifest(path);
  if (!manifest) return entry;
  entry.id = manifest->id;
  entry.source.clear();
  for (const std::string& word : manifest->argv) entry.source += entry.source.empty() ? word : " " + word;
  entry.created = manifest->created;
  entry.torch = manifest->torch;
  if (!manifest->devices.empty()) entry.device = manifest->devices.front().name;
  entry.step = profile::shown_step(path, *manifest);
  return entry;
}

Error gone(const std::string& id) {
  return {ErrorCode::not_found, "the profile " + id + " is not there any more; choose another one", id};
}

// Of the steps looked at last, made for one that is not among them.
template <class Known, class Make>
auto kept(Known& known, std::size_t step, Make make) {
  const auto found = std::ranges::find(known, step, &Known::value_type::first);
  if (found != known.end()) {
    known.splice(known.begin(), known, found);
  } else {
    known.emplace_front(step, make());
    if (known.size() > kMaxSteps) known.pop_back();
  }
  return known.front().second;
}

// Null where they are no ranks of one run: two of one rank, no exchange that both recorded, or nothing that can be read.
std::shared_ptr<const ranks::Ranks> read_ranks(const std::vector<ranks::Source>& sources) {
  Result<ranks::Ranks> read = attempt([&] { return ranks::read(sources); });
  if (!read || read->set.ranks.size() < 2 || read->set.collectives.empty()) return nullptr;
  return std::make_shared<const ranks::Ranks>(std::move(*read));
}

StepLanes lanes_of(const std::shared_ptr<const blocks::Blocks>& blocks, const profile::Profile& profile) {
  const profile::HeldOverTime held = profile::held_over_time(*blocks->annotated, blocks->step, profile.at_peak.outside);
  StepLanes lanes{.host = features::threads_of(blocks),
                  .memory = {},
                  .queue = features::queue_counter(blocks->annotated->account, blocks->step),
                  .memory_device = held.device,
                  .memory_of_map = held.of_map};
  if (!held.empty()) lanes.memory = features::memory_counter(held, blocks->wall);
  return lanes;
}

}  // namespace

Opened::Opened(std::string id, profile::Annotated annotated,
               const std::function<std::shared_ptr<const profile::Profile>(std::shared_ptr<const profile::Profile>)>& finish)
    : id_(std::move(id)) {
  profile_ = profile::profile_of(annotated);
  annotated_ = std::make_shared<const profile::Annotated>(std::move(annotated));
  if (finish) profile_ = finish(profile_);
  names_ = std::async(std::launch::async, [annotated = annotated_] { return features::names_by_step(*annotated); });
  recording_ = std::async(std::launch::deferred, [annotated = annotated_] { return features::recording_of(*annotated); });
}

std::shared_ptr<const blocks::Blocks> Opened::blocks(std::size_t step) const {
  const std::scoped_lock lock(mutex_);
  return kept(blocks_, step, [&] { return blocks::blocks_of(annotated_, step); });
}

std::shared_ptr<const StepLanes> Opened::lanes(std::size_t step) const {
  const std::shared_ptr<const blocks::Blocks> of = blocks(step);
  const std::scoped_lock lock(mutex_);
  return kept(lanes_, step, [&] { return std::make_shared<const StepLanes>(lanes_of(of, *profile_)); });
}

bool Opened::built(std::size_t step) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && std::ranges::any_of(blocks_, [step](const auto& entry) { return entry.first == step; });
}

// What is gone stays as it was read.
bool Library::is_current(const Slot& slot, const Entry& entry) {
  const fs::file_time_type now = written(entry.path);
  return slot.opened && (now == fs::file_time_type::min() || (slot.path == entry.path && slot.written == now));
}

// Under the lock.
std::vector<Entry> Library::entries() {
  std::vector<Entry> list;
  std::map<std::string, Entry> known;
  for (const fs::path& path : sources_.list()) {
    const fs::file_time_type time = written(path);
    const std::string key = path.string() + "@" + std::to_string(time.time_since_epoch().count());
    const auto before = known_.find(key);
    Entry entry = before != known_.end() ? before->second : entry_of(path);
    entry.written = time;
    known.emplace(key, entry);
    // Two traces of one name in two folders.
    const std::string plain = entry.id;
    for (int number = 2; std::ranges::find(list, entry.id, &Entry::id) != list.end(); ++number)
      entry.id = plain + "~" + std::to_string(number);
    if (std::ranges::find(list, entry.path, &Entry::path) == list.end()) list.push_back(std::move(entry));
  }
  known_ = std::move(known);
  return list;
}

std::vector<Entry> Library::profiles() {
  const std::scoped_lock lock(mutex_);
  std::vector<Entry> list = entries();
  std::ranges::stable_sort(list, std::ranges::greater{}, &Entry::created);
  return list;
}

std::string Library::current() {
  const std::scoped_lock lock(mutex_);
  const std::vector<Entry> list = entries();
  return list.empty() ? std::string() : list.front().id;
}

Result<Library::Shared> Library::open(const std::string& asked) {
  std::unique_lock lock(mutex_);
  const std::vector<Entry> list = entries();
  if (asked.empty() && list.empty()) {
    return std::unexpected(Error{ErrorCode::not_found, "there is no profile here yet; record one with `hotlens run train.py`", {}});
  }
  const std::string id = asked.empty() ? list.front().id : asked;
  const auto entry = std::ranges::find(list, id, &Entry::id);
  const auto is_read = [&] {
    const auto slot = slots_.find(id);
    return slot == slots_.end() || slot->second.opened != nullptr;
  };
  read_.wait(lock, is_read);
  used_.remove(id);
  used_.push_front(id);
  const auto slot = slots_.find(id);
  if (slot != slots_.end() && (entry == list.end() || is_current(slot->second, *entry))) return slot->second.opened;
  if (entry == list.end()) return std::unexpected(gone(id));

  slots_[id] = {entry->path, written(entry->path), nullptr};
  const fs::path path = entry->path;
  lock.unlock();
  // Also where reading throws: others wait for its end.
  Result<Shared> opened = attempt([&]() -> Result<Shared> {
    Result<profile::Annotated> annotated = profile::annotate(path);
    if (!annotated) return std::unexpected(annotated.error());
    return std::make_shared<const Opened>(id, std::move(*annotated), sources_.finish);
  });
  lock.lock();
  if (opened) {
    slots_[id].opened = *opened;
  } else {
    slots_.erase(id);
  }
  while (slots_.size() > kMaxOpened && used_.size() > 1) {
    const auto oldest = slots_.find(used_.back());
    if (oldest != slots_.end() && !oldest->second.opened) break;  // somebody is reading it
    if (oldest != slots_.end()) slots_.erase(oldest);
    used_.pop_back();
  }
  read_.notify_all();
  return opened;
}

std::shared_ptr<const ranks::Ranks> Library::ranks_of(const Opened& opened) {
  const fs::path& path = opened.path();
  std::vector<ranks::Source> sources;
  std::string key;
  if (opened.profile().ranks.size() > 1) {
    for (const profile::RankTimes& rank : opened.profile().ranks) sources.push_back({path, rank.rank});
    key = path.string();
  } else if (std::ranges::find(sources_.together, path, &ranks::Source::path) != sources_.together.end()) {
    sources = sources_.together;
  } else {
    return nullptr;
  }
  std::unique_lock lock(mutex_);
  const auto [at, fresh] = ranks_.try_emplace(key);
  if (fresh) at->second = std::async(std::launch::deferred, [sources = std::move(sources)] { return read_ranks(sources); });
  const ReadRanks read = at->second;
  lock.unlock();
  return read.get();
}

std::string Library::id_of(const fs::path& path) {
  const std::scoped_lock lock(mutex_);
  const std::vector<Entry> list = entries();
  const auto at = std::ranges::find(list, path, &Entry::path);
  return at == list.end() ? std::string() : at->id;
}

Library::Shared Library::ready() {
  const std::scoped_lock lock(mutex_);
  const std::vector<Entry> list = entries();
  const auto slot = list.empty() ? slots_.end() : slots_.find(list.front().id);
  if (slot == slots_.end() || !is_current(slot->second, list.front())) return nullptr;
  const Shared& opened = slot->second.opened;
  return !opened->profile().steps.empty() && opened->built(opened->profile().representative) ? opened : nullptr;
}

void Library::drop_all() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(slots_, [](const auto& slot) { return slot.second.opened != nullptr; });
}

}  // namespace hotlens::timeline_requests
