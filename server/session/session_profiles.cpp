// Which profile each document shows, and telling the client when that changes.
#include <algorithm>
#include <utility>

#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/runs/discovery.h"
#include "server/runs/packages.h"
#include "server/session/session.h"

namespace hotlens::session {
namespace {

// The fallback for clients that do not watch files; it reads a few folder entries on the pool.
constexpr std::chrono::seconds kPollEvery{1};

}  // namespace

void Session::start_profiles() {
  profiles_started_ = true;
  if (!settings_.trace.empty()) open_trace();
  update_places();
  poll_profiles();
}

void Session::poll_profiles() {
  store_.look();
  poll_timer_ = loop_.after(kPollEvery, [this] { poll_profiles(); });
}

void Session::update_places() {
  std::set<std::filesystem::path> workspace(folders_.begin(), folders_.end()), documents;
  workspace.insert(run_folders_.begin(), run_folders_.end());
  for (const auto& [uri, document] : documents_) documents.insert(document.path().parent_path());
  store_.set_places(std::move(workspace), std::move(documents));
}

void Session::open_trace() {
  if (settings_.trace.empty()) return store_.open({}, {}, {});
  const std::filesystem::path folder = folders_.empty() ? std::filesystem::path() : folders_.front();
  std::vector<std::filesystem::path> files;
  for (const auto& [uri, document] : documents_) files.push_back(document.path());
  const auto roots = [folders = folders_, folder, files, python = settings_.python] {
    std::vector<std::filesystem::path> list = folders;
    const auto add = [&](const std::vector<std::filesystem::path>& more) { list.insert(list.end(), more.begin(), more.end()); };
    for (const std::filesystem::path& file : files) add(runs::import_folders(file));
    if (const auto found = runs::find_python(python, folder, runs::process_environment())) add(runs::package_folders(found->path));
    return list;
  };
  store_.open(folder / settings_.trace, roots, files);
}

void Session::profiles_changed() {
  bind_documents();
  tell_profile_state();
  timeline_changed();
}

void Session::profiles_settled() {
  if (binding_ > 0 || store_.busy()) return;
  answer_waiting();
  if (run_ && run_->reading) finish_run(*run_, run_->unread.empty() ? "The hints are new." : run_->unread);
}

void Session::profile_unreadable(const Error& error) {
  last_message_ = error.message;
  if (run_ && run_->reading) run_->unread = "The profile cannot be read.";
  client_.show(MessageType::warning, error.message);
}

void Session::bind_documents() {
  std::vector<Document*> all;
  for (auto& [uri, document] : documents_) all.push_back(&document);
  bind(all, true);
}

// Binds on the pool; the documents keep what they show until all of them are done, then the client is asked to look once.
void Session::bind(const std::vector<Document*>& documents, bool refresh) {
  struct Job {
    std::string uri;
    std::filesystem::path path;
    std::vector<ProfileStore::Shared> candidates;
    std::optional<source::Tree> tree;
    Binding binding;
  };
  std::vector<Job> jobs;
  for (const Document* document : documents) {
    jobs.push_back({document->uri(), document->path(), store_.candidates(document->path()), {}, {}});
    if (!jobs.back().candidates.empty()) jobs.back().tree = document->tree();
  }
  ++binding_;
  // Where nobody trusts the workspace, a profile in it may name no file outside.
  features::Folders readable = trusted_ ? features::Folders() : features::Folders(folders_);
  auto find_facts = [jobs = std::move(jobs), readable = std::move(readable)]() mutable {
    for (Job& job : jobs) {
      for (const ProfileStore::Shared& candidate : job.candidates) {
        job.binding = {candidate, features::bind(candidate, job.path, &*job.tree, readable)};
        if (job.binding.facts) break;
      }
      // Nothing about this file anywhere: it belongs to its own folder's profile.
      if (!job.binding.facts && !job.candidates.empty()) job.binding.profile = job.candidates.front();
    }
    return std::move(jobs);
  };
  loop_.work(std::move(find_facts), [this, refresh](Result<std::vector<Job>> done) {
    --binding_;
    bool changed = false;
    if (!done) log_.warn("a document's profile: " + done.error().message);
    for (Job& job : done ? *done : std::vector<Job>{}) {
      Document* document = documents_.find(job.uri);
      if (document == nullptr || document->path() != job.path) continue;
      changed = changed || document->profile() != job.binding.profile || job.binding.facts != nullptr;
      document->bind(std::move(job.binding));
    }
    if (refresh && changed) client_.refresh_hints();
    if (refresh && changed && !(run_ && run_->reading)) client_.refresh_lenses();  // the end of the run asks for them
    profiles_settled();
  });
}

Session::Json Session::state_of(const std::filesystem::path& file) const {
  Json state{{"loading", !store_.known() || store_.busy()}, {"running", run_.has_value()}};
  const auto candidates = store_.candidates(file);
  if (!candidates.empty()) {
    const profile::Profile& shown = *candidates.front();
    const Ns step = shown.plain_step.value_or(shown.step_wall());  // as in the lens
    state["profile"] = {{"id", shown.id},       {"source", shown.source},          {"created", shown.created},
                        {"torch", shown.torch}, {"folder", shown.folder.string()}, {"stepNs", step.count()}};
  }
  if (run_) state["runId"] = run_->id;
  if (!last_message_.empty()) state["message"] = last_message_;
  return state;
}

Session::Answer Session::profile_state(const Json& params) {
  const protocol::Reader reader(params);
  std::filesystem::path file;
  if (const auto document = reader.maybe("textDocument")) {
    file = protocol::path_of_uri((*document)["uri"].string()).value_or(std::filesystem::path());
  }
  if (auto error = reader.error()) return std::unexpected(*error);
  return state_of(file);
}

void Session::tell_profile_state() {
  if (client_.can.own_messages) client_.notify(protocol::message::kProfileChanged, state_of(std::filesystem::path()));
}

}  // namespace hotlens::session
