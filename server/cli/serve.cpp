// The timeline in a browser: a loopback server for the profiles found here, until it is interrupted.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <tuple>

#include "annotator/advice/ledger.h"
#include "annotator/common/attempt.h"
#include "annotator/common/file.h"
#include "annotator/guess/match/guess_lines.h"
#include "annotator/lab/checkpoint/kept.h"
#include "annotator/lab/predict/kept.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/ranks/read.h"
#include "protocol/messages.h"
#include "server/cli/browser.h"
#include "server/cli/verbs.h"
#include "server/runs/discovery.h"
#include "server/runs/packages.h"
#include "server/timeline/answers.h"
#include "server/web/pages.h"
#include "server/web/server.h"

namespace hotlens::cli {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using timeline_requests::Library;

// Answers while another request still reads a profile.
constexpr std::size_t kWorkers = 2;
// A new profile in the folder is seen after this long at most.
constexpr std::chrono::seconds kLookEvery{1};
// Nothing of the user's runs here, and no file is written.
constexpr const char* kNoEditor = "There is no editor behind this page: do it in the editor or in a terminal.";

// What was named, then every bundle found from `here`.
std::vector<fs::path> profiles_from(const std::vector<fs::path>& named, const fs::path& here) {
  std::vector<fs::path> list = named;
  for (fs::path& bundle : profile::bundles(here)) {
    if (std::ranges::find(named, bundle) == named.end()) list.push_back(std::move(bundle));
  }
  return list;
}

// What was named: profiles, and the ranks of one run. Files of a folder or a glob of traces are profiles each.
Result<std::vector<ranks::Source>> named_sources(const std::vector<std::string>& references, const fs::path& here) {
  auto named = ranks::sources(references, here);
  if (!named) return named;
  for (ranks::Source& source : *named) source.path = (here / source.path).lexically_normal();
  return named;
}

std::vector<fs::path> paths_of(const std::vector<ranks::Source>& sources) {
  std::vector<fs::path> paths;
  for (const ranks::Source& source : sources) {
    if (std::ranges::find(paths, source.path) == paths.end()) paths.push_back(source.path);
  }
  return paths;
}

// A bare trace gets its lines guessed from the sources here.
std::shared_ptr<const profile::Profile> with_lines(std::shared_ptr<const profile::Profile> profile, const fs::path& here) {
  std::vector<fs::path> roots{here};
  if (const auto python = runs::find_python({}, here, runs::process_environment())) {
    for (const fs::path& folder : runs::package_folders(python->path)) roots.push_back(folder);
  }
  return guess::guess_lines(std::move(profile), roots, {});
}

void show(web::Server& server) {
  const auto opener = runs::on_path("xdg-open", runs::process_environment());
  if (!opener || (::getenv("DISPLAY") == nullptr && ::getenv("WAYLAND_DISPLAY") == nullptr)) return;
  open_in_browser(*opener, server.url_to_open());
}

// What a page asks for first is ready when it asks.
void prepare(Library& library) {
  const auto opened = library.open({});
  if (opened && !(*opened)->profile().steps.empty()) static_cast<void>((*opened)->blocks((*opened)->profile().representative));
}

// What is there, and when each, and what was predicted from it and is known of changes, was written.
struct Seen {
  std::vector<std::pair<std::string, fs::file_time_type>> profiles, predictions;
  std::vector<std::string> what_ifs;  // stamps of what is known of changes, of each profile that has any
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen seen(Library& library) {
  Seen list;
  for (const timeline_requests::Entry& entry : library.profiles()) {
    list.profiles.emplace_back(entry.id, entry.written);
    const std::string ledger = stamp_of(advice::ledger_of(entry.path)), curve = stamp_of(lab::kept_checkpoints(entry.path));
    if (!ledger.empty() || !curve.empty()) list.what_ifs.push_back(entry.id + " " + ledger + " " + curve);
    std::error_code absent;
    const fs::file_time_type predicted = fs::last_write_time(lab::kept_batch_sizes(entry.path), absent);
    if (!absent) list.predictions.emplace_back(entry.id, predicted);
  }
  return list;
}

void tell_changes(Library& library, web::Server& server, const Seen& before, const Seen& now) {
  if (now.predictions != before.predictions) server.notify(protocol::message::kTimelineBatchSizesChanged, Json::object());
  if (now.what_ifs != before.what_ifs) server.notify(protocol::message::kTimelineWhatIfsChanged, Json::object());
  if (now.profiles == before.profiles) return;
  const std::string current = attempt([&] { return library.current(); }).value_or(std::string());
  server.notify(protocol::message::kTimelineChanged, current.empty() ? Json::object() : Json{{"current", current}});
}

// Until SIGINT or SIGTERM, which every thread blocks; looks for new profiles, and for new ones under an old name, meanwhile.
void wait_for_end(const sigset_t& signals, Library& library, web::Server& server) {
  const timespec patience{kLookEvery.count(), 0};
  Result<Seen> known = attempt([&] { return seen(library); });
  while (::sigtimedwait(&signals, nullptr, &patience) < 0) {
    Result<Seen> now = attempt([&] { return seen(library); });
    if (!now || (known && *now == *known)) continue;
    tell_changes(library, server, known.value_or(Seen{}), *now);
    known = std::move(now);
  }
}

}  // namespace

int serve(const ServeOptions& options) {
  const fs::path here = fs::current_path();
  auto together = named_sources(options.profiles, here);
  if (!together) return fail(together.error());
  std::vector<fs::path> named = paths_of(*together);
  // The latest is whichever is the latest when somebody looks.
  if (options.profiles == std::vector<std::string>{"latest"}) named.clear();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Library library({.list = [named = std::move(named), here] { return profiles_from(named, here); },
                   .finish = [here](std::shared_ptr<const profile::Profile> profile) { return with_lines(std::move(profile), here); },
                   .together = std::move(*together)});
  boost::asio::thread_pool workers(kWorkers);
  const auto handle = [&](protocol::Request request, protocol::Reply reply) {
    if (request.method == protocol::message::kTimelineReveal || request.method == protocol::message::kTimelinePoint)
      return reply(Json{{"shown", false}});
    if (request.method == protocol::message::kTimelinePredict || request.method == protocol::message::kTimelinePlanCheckpoints)
      return reply(Json{{"started", false}, {"message", kNoEditor}});
    if (request.method == protocol::message::kTimelineSetBatchSize || request.method == protocol::message::kTimelineSetCheckpoints)
      return reply(Json{{"applied", false}, {"message", kNoEditor}});
    boost::asio::post(workers, [&library, request = std::move(request), reply = std::move(reply)]() mutable {
      reply(timeline_requests::answer(library, request.method, request.params));
    });
  };
  const auto first = [&library] { return timeline_requests::first_answers(library); };
  auto server =
      web::Server::start({.port = options.port, .pages = web::find_pages()}, {.handle = handle, .connections = nullptr, .first = first});
  if (!server) return fail(server.error());
  std::cout << (*server)->url() << '\n' << std::flush;
  if (options.open) show(**server);
  boost::asio::post(workers, [&library] { std::ignore = attempt([&] { prepare(library); }); });
  wait_for_end(signals, library, **server);
  server->reset();
  // Not by unwinding: a worker may read a large trace, and nobody waits for it any more.
  std::_Exit(kDone);
}

}  // namespace hotlens::cli
