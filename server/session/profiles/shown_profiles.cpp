#include "server/session/profiles/shown_profiles.h"

#include <algorithm>
#include <set>
#include <utility>

#include "server/runs/discovery.h"
#include "server/runs/packages.h"
#include "server/session/profiles/homes.h"

namespace hotlens::session {
namespace fs = std::filesystem;

namespace {

// The fallback for clients that do not watch files; it reads a few folder entries on the pool.
constexpr std::chrono::milliseconds kPollEvery{400};

bool lies_in(const fs::path& file, const std::vector<fs::path>& folders) {
  return std::ranges::any_of(folders, [&](const fs::path& folder) { return std::ranges::mismatch(folder, file).in1 == folder.end(); });
}

// Where the sources of a trace without lines may be.
std::vector<fs::path> source_roots(std::vector<fs::path> folders, const std::vector<fs::path>& files, const std::string& python) {
  const fs::path from = folders.empty() ? fs::path() : folders.front();
  const auto add = [&](const std::vector<fs::path>& more) { folders.insert(folders.end(), more.begin(), more.end()); };
  for (const fs::path& file : files) add(runs::import_folders(file));
  if (const auto found = runs::find_python(python, from, runs::process_environment())) add(runs::package_folders(found->path));
  return folders;
}

}  // namespace

struct ShownProfiles::Job {
  std::string uri;
  fs::path path;
  std::vector<ProfileStore::Shared> candidates;
  std::vector<fs::path> folders;
  std::map<fs::path, ProfileStore::Shared> baselines;  // by home
  std::optional<source::Tree> tree;
  Binding binding;

  void find_facts(const features::Folders& readable) {
    find_shown(readable);
    const auto of_home = baselines.find(home_of(folders, path, binding.profile ? binding.profile->folder : fs::path()));
    const ProfileStore::Shared baseline = of_home != baselines.end() ? of_home->second : nullptr;
    if (!baseline || !binding.facts || binding.profile->id == baseline->id) return;
    binding.baseline = baseline;
    binding.baseline_facts = features::bind(baseline, path, &*tree, readable);
    if (binding.baseline_facts) binding.judge = features::line_judge(baseline, binding.profile);
  }
  void find_shown(const features::Folders& readable) {
    for (const ProfileStore::Shared& candidate : candidates) {
      binding = {candidate, features::bind(candidate, path, &*tree, readable)};
      if (binding.facts) return;
    }
    // Nothing about this file anywhere: it belongs to its own folder's profile.
    if (!candidates.empty()) binding.profile = candidates.front();
  }
};

ShownProfiles::ShownProfiles(Loop& loop, Workspace& workspace, const Log& log, Events events)
    : loop_(loop),
      workspace_(workspace),
      log_(log),
      events_(std::move(events)),
      store_(loop, {.changed =
                        [this] {
                          bind_all();
                          events_.changed();
                        },
                    .settled = [this] { settle(); },
                    .failed = [this](const Error& error) { events_.failed(error); }}) {}

void ShownProfiles::start() {
  started_ = true;
  if (!workspace_.settings.trace.empty()) open_trace({});
  follow_places();
  poll();
}

void ShownProfiles::poll() {
  store_.look();
  poll_ = loop_.after(kPollEvery, [this] { poll(); });
}

void ShownProfiles::follow_places() {
  std::set<fs::path> folders(workspace_.folders.begin(), workspace_.folders.end()), documents;
  folders.insert(workspace_.run_folders.begin(), workspace_.run_folders.end());
  for (const auto& [uri, document] : workspace_.documents) documents.insert(document.path().parent_path());
  store_.set_places(std::move(folders), std::move(documents));
}

void ShownProfiles::follow_settings(const Settings& before) {
  store_.choose_rank(workspace_.settings.rank);
  if (started_ && workspace_.settings.trace != before.trace) open_trace({});
}

// What somebody chose goes before what the settings name.
fs::path ShownProfiles::trace_of(const fs::path& home) const {
  if (const auto chosen = chosen_.find(home); chosen != chosen_.end()) return chosen->second;
  const fs::path trace = workspace_.settings.trace;
  if (!home.empty() || trace.empty()) return {};
  return workspace_.folders.empty() ? trace : workspace_.folders.front() / trace;
}

void ShownProfiles::open_trace(const fs::path& home) {
  const fs::path trace = trace_of(home);
  if (trace.empty()) return store_.open(home, {}, {}, {});
  std::vector<fs::path> files;
  for (const auto& [uri, document] : workspace_.documents) files.push_back(document.path());
  const auto roots = [folders = workspace_.folders, files, python = workspace_.settings.python] {
    return source_roots(folders, files, python);
  };
  store_.open(home, trace, roots, files);
}

void ShownProfiles::choose(const fs::path& home, const fs::path& bundle) {
  const auto before = chosen_.find(home);
  if ((before != chosen_.end() ? before->second : fs::path()) == bundle) return;
  if (bundle.empty()) {
    chosen_.erase(before);
  } else {
    chosen_[home] = bundle;
  }
  if (started_) open_trace(home);
}

void ShownProfiles::compare_with(const fs::path& home, const ProfileStore::Shared& baseline) {
  if (std::exchange(baselines_[home], baseline) != baseline) bind_all();
}

void ShownProfiles::opened(Document& document) {
  follow_places();
  if (!started_) return;
  // The guess looks around open files, too: one from elsewhere may be the model's.
  if (!workspace_.settings.trace.empty() && !lies_in(document.path(), workspace_.folders)) open_trace({});
  bind({&document});
  store_.look();
}

void ShownProfiles::bind_all() {
  if (!started_) return;
  std::vector<Document*> all;
  for (auto& [uri, document] : workspace_.documents) all.push_back(&document);
  bind(all);
}

void ShownProfiles::bind_unknown() {
  std::vector<Document*> unknown;
  for (auto& [uri, document] : workspace_.documents) {
    if (document.bound() && !document.has_facts()) unknown.push_back(&document);
  }
  if (!unknown.empty()) bind(unknown);
}

void ShownProfiles::bind(const std::vector<Document*>& documents) {
  std::vector<Job> jobs;
  for (const Document* document : documents) {
    jobs.push_back({document->uri(), document->path(), candidates(document->path()), workspace_.folders, baselines_, {}, {}});
    if (!jobs.back().candidates.empty()) jobs.back().tree = document->tree();
  }
  const features::Folders readable = workspace_.trusted ? features::Folders() : features::Folders(workspace_.folders);
  ++binding_;
  auto find_facts = [jobs = std::move(jobs), readable]() mutable {
    for (Job& job : jobs) job.find_facts(readable);
    return std::move(jobs);
  };
  loop_.work(std::move(find_facts), [this](Result<std::vector<Job>> done) { bound(std::move(done)); });
}

void ShownProfiles::bound(Result<std::vector<Job>> done) {
  --binding_;
  if (!done) log_.warn("a document's profile: " + done.error().message);
  bool changed = false;
  for (Job& job : done ? *done : std::vector<Job>{}) {
    Document* document = workspace_.documents.find(job.uri);
    if (document == nullptr || document->path() != job.path) continue;
    changed = changed || document->profile() != job.binding.profile || job.binding.facts != nullptr;
    document->bind(std::move(job.binding));
  }
  if (changed) events_.bound();
  settle();
}

void ShownProfiles::settle() {
  if (binding_ == 0 && !store_.busy()) events_.settled();
}

bool ShownProfiles::is_expected(const Document& document) const {
  return started_ && (!document.bound() || !store_.known() || binding_ > 0) && document.profile() == nullptr;
}

}  // namespace hotlens::session
