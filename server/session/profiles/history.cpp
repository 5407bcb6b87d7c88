#include "server/session/profiles/history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "annotator/common/format.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/resolve.h"
#include "protocol/reader.h"
#include "protocol/uri.h"
#include "server/features/words/baseline.h"
#include "server/features/words/format.h"
#include "server/runs/words.h"
#include "server/session/documents/convert.h"
#include "server/session/profiles/homes.h"
#include "server/session/profiles/kept_baseline.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;

// A list that somebody looks through.
constexpr std::int64_t kMostProfiles = 200, kUsualProfiles = 50;

struct Entry {
  fs::path bundle;
  profile::Manifest manifest;
  std::optional<Ns> step;
};

// "2026-11-23T20:44:15Z" as people read it.
std::string spelled_time(const std::string& created) {
  std::string time = features::plain(created).substr(0, 16);
  std::ranges::replace(time, 'T', ' ');
  return time.empty() ? "another time" : time + " UTC";
}

// Newest first; each once.
std::vector<fs::path> all_bundles(const std::vector<fs::path>& folders) {
  std::vector<fs::path> all;
  for (const fs::path& folder : folders) {
    for (fs::path& bundle : profile::bundles(folder)) all.push_back(std::move(bundle));
  }
  std::ranges::sort(all, [](const fs::path& a, const fs::path& b) { return std::pair(b.filename(), b) < std::pair(a.filename(), a); });
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

std::vector<Entry> read_all(const std::vector<fs::path>& bundles, std::size_t most) {
  std::vector<Entry> entries;
  for (const fs::path& bundle : bundles) {
    if (entries.size() == most) break;
    auto manifest = profile::read_manifest(bundle);
    if (!manifest) continue;
    const auto step = profile::shown_step(bundle, *manifest);
    entries.push_back({bundle, *std::move(manifest), step});
  }
  return entries;
}

std::string short_commit(const profile::Manifest& manifest) {
  return features::plain(manifest.commit).substr(0, 7) + (manifest.edited ? "+" : "");
}

// In a few words, against the one before it.
Json changes(const profile::Manifest& now, const profile::Manifest& before) {
  Json list = Json::array();
  if (now.argv != before.argv) list.push_back("arguments");
  if (now.commit != before.commit) list.push_back("commit");
  if (now.edited) list.push_back("edits");
  if (now.samples_per_step != before.samples_per_step) list.push_back("batch size");
  if (now.torch != before.torch) list.push_back("torch");
  return list;
}

Json entry_json(const Entry& entry, const Entry* before) {
  Json json{{"id", entry.bundle.filename().string()},
            {"created", entry.manifest.created},
            {"source", features::plain(runs::quoted(entry.manifest.argv))},
            {"changed", before != nullptr ? changes(entry.manifest, before->manifest) : Json::array()}};
  if (entry.step) {
    json["stepNs"] = entry.step->count();
    json["step"] = format::readable(*entry.step);
  }
  if (!entry.manifest.commit.empty()) json["commit"] = short_commit(entry.manifest);
  return json;
}

Json list_json(const std::vector<Entry>& entries, const fs::path& shown, const fs::path& baseline) {
  Json list = Json::array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    // What changed since the last time that this script ran there.
    const auto of_same = [&](const Entry& other) {
      return other.bundle.parent_path() == entry.bundle.parent_path() && !other.manifest.argv.empty() && !entry.manifest.argv.empty() &&
             other.manifest.argv.front() == entry.manifest.argv.front();
    };
    const auto before = std::find_if(entries.begin() + static_cast<std::ptrdiff_t>(i) + 1, entries.end(), of_same);
    list.push_back(entry_json(entry, before == entries.end() ? nullptr : &*before));
    list.back()["shown"] = entry.bundle == shown;
    list.back()["baseline"] = !baseline.empty() && entry.bundle == baseline;
  }
  return list;
}

}  // namespace

void History::list(const Json& params, Reply reply) {
  const Reader reader(params);
  fs::path file;
  if (const auto document = reader.maybe("textDocument")) file = protocol::path_of_uri((*document)["uri"].string()).value_or(fs::path());
  const auto limit = reader.maybe("limit");
  const std::int64_t most = limit ? std::clamp<std::int64_t>(limit->integer(), 0, kMostProfiles) : kUsualProfiles;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const ProfileStore::Shared now = events_.shown(file), compared = baseline_in(home(file));
  const fs::path shown = now ? now->folder : fs::path(), baseline = compared ? compared->folder : fs::path();
  std::vector<fs::path> places = file.empty() ? events_.folders() : in_home(events_.folders(), home(file));
  auto read = [folders = std::move(places), most, shown, baseline] {
    const std::vector<fs::path> bundles = all_bundles(folders);
    return Json{{"profiles", list_json(read_all(bundles, static_cast<std::size_t>(most)), shown, baseline)}, {"total", bundles.size()}};
  };
  loop_.work(std::move(read), [reply = std::move(reply)](Result<Json> found) mutable {
    if (found) return reply(*std::move(found));
    reply(std::unexpected(protocol::RpcError{protocol::Code::internal_error, found.error().message}));
  });
}

void History::find(const std::string& profile, std::function<void(const std::optional<Place>&)> found) {
  auto look = [folders = events_.folders(), profile]() -> std::optional<Place> {
    for (const fs::path& folder : folders) {
      const std::vector<fs::path> bundles = profile::bundles(folder);
      const auto at = std::ranges::find(bundles, fs::path(profile), [](const fs::path& bundle) { return bundle.filename(); });
      const auto latest = profile::resolve("latest", folder);
      if (at != bundles.end()) return Place{*at, latest && *latest == *at};
    }
    return std::nullopt;
  };
  loop_.work(std::move(look), [this, profile, found = std::move(found)](const Result<std::optional<Place>>& place) {
    const bool known = place && *place;
    if (!known) client_.show(MessageType::warning, "The profile " + features::plain(profile) + " is not there any more.");
    found(known ? *place : std::nullopt);
  });
}

History::Asked History::read_asked(const Reader& reader) {
  Asked asked;
  if (const auto named = reader.maybe("profile")) asked.profile = named->string();
  if (const auto uri = reader.maybe("uri")) asked.file = protocol::path_of_uri(uri->string()).value_or(fs::path());
  return asked;
}

fs::path History::home(const fs::path& file) const {
  const ProfileStore::Shared shown = events_.shown(file);
  return home_of(workspace_.folders, file, shown ? shown->folder : fs::path());
}

// Where a bundle belongs that lies in no workspace folder, the file says.
fs::path History::home_of_bundle(const fs::path& bundle, const Asked& asked) const {
  return home_of(workspace_.folders, asked.file.value_or(fs::path()), bundle);
}

fs::path History::chosen_in(const fs::path& home) const {
  const auto found = chosen_.find(home);
  return found != chosen_.end() ? found->second : fs::path();
}

ProfileStore::Shared History::baseline_in(const fs::path& home) const {
  const auto found = baselines_.find(home);
  return found != baselines_.end() ? found->second : nullptr;
}

std::string History::baseline(const fs::path& file) const {
  const ProfileStore::Shared baseline = baseline_in(home(file));
  return baseline ? baseline->id : "";
}

void History::show(const Json& argument, Reply reply) {
  const Reader reader(argument);
  const Asked asked = read_asked(reader);
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (asked.profile.empty()) {
    show_newest(asked);
    return reply(Json{{"shown", true}});
  }
  auto held = std::make_shared<Reply>(std::move(reply));
  find(asked.profile, [this, held, asked](const std::optional<Place>& place) {
    if (!place) return (*held)(Json{{"shown", false}, {"message", "There is no such profile."}});
    choose(home_of_bundle(place->bundle, asked), place->newest ? fs::path() : place->bundle);
    (*held)(Json{{"shown", true}, {"profile", asked.profile}});
  });
}

// In every folder where no file is named.
void History::show_newest(const Asked& asked) {
  if (asked.file) return choose(home(*asked.file), {});
  for (const auto& [home, bundle] : std::map(chosen_)) choose(home, {});
}

void History::clear_baseline(const Asked& asked) {
  if (asked.file) return decide(home(*asked.file), nullptr);
  std::vector<fs::path> homes = workspace_.folders;
  if (homes.empty()) homes.emplace_back();
  for (const fs::path& home : homes) decide(home, nullptr);
}

void History::set_baseline(const Json& argument, Reply reply) {
  const Reader reader(argument);
  const Asked asked = read_asked(reader);
  const auto clear = reader.maybe("clear");
  const bool clears = clear && clear->boolean();
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (clears) {
    clear_baseline(asked);
    return reply(Json::object());
  }
  if (asked.profile.empty()) {
    const fs::path file = asked.file.value_or(fs::path());
    const ProfileStore::Shared shown = events_.shown(file);
    if (!shown) return reply(Json{{"message", "There is no profile yet. Profile the script first."}});
    decide(home(file), shown);
    return reply(Json{{"baseline", shown->id}});
  }
  auto held = std::make_shared<Reply>(std::move(reply));
  find(asked.profile, [this, held, asked](const std::optional<Place>& place) {
    if (!place) return (*held)(Json{{"message", "There is no such profile."}});
    loop_.work([bundle = place->bundle] { return profile::load(bundle); },
               [this, held, home = home_of_bundle(place->bundle, asked)](const Result<ProfileStore::Shared>& loaded) {
                 if (!loaded) {
                   client_.show(MessageType::warning, loaded.error().message);
                   return (*held)(Json{{"message", loaded.error().message}});
                 }
                 decide(home, *loaded);
                 (*held)(Json{{"baseline", (*loaded)->id}});
               });
  });
}

void History::choose(const fs::path& home, const fs::path& bundle) {
  if (bundle.empty()) {
    chosen_.erase(home);
  } else {
    chosen_[home] = bundle;
  }
  events_.choose(home, bundle);
  events_.changed();
}

void History::compare_with(const fs::path& home, const ProfileStore::Shared& baseline) {
  baselines_[home] = baseline;
  events_.compare_with(home, baseline);
  events_.changed();
}

// Where a baseline may be kept.
std::vector<fs::path> History::state_folders() const {
  std::vector<fs::path> folders = workspace_.folders;
  folders.insert(folders.end(), workspace_.run_folders.begin(), workspace_.run_folders.end());
  for (const auto& [uri, document] : workspace_.documents) folders.push_back(document.path().parent_path());
  return folders;
}

// Those that belong to one workspace folder.
std::vector<fs::path> History::in_home(std::vector<fs::path> folders, const fs::path& home) const {
  std::erase_if(folders, [&](const fs::path& folder) { return home_of(workspace_.folders, folder) != home; });
  return folders;
}

void History::decide(const fs::path& home, const ProfileStore::Shared& baseline) {
  decided_.insert(home);
  compare_with(home, baseline);
  to_keep_.insert(home);
  if (!keeping_) keep();
}

// One after the other, so that what was decided last is what stays.
void History::keep() {
  keeping_ = !to_keep_.empty();
  if (!keeping_) return;
  const fs::path home = to_keep_.extract(to_keep_.begin()).value();
  const ProfileStore::Shared baseline = baseline_in(home);
  auto write = [folders = in_home(state_folders(), home), bundle = baseline ? baseline->folder : fs::path()] {
    return keep_baseline(folders, bundle);
  };
  loop_.work(std::move(write), [this](const Result<void>& kept) {
    if (!kept) client_.show(MessageType::warning, kept.error().message + " The baseline lasts until the editor closes.");
    keep();
  });
}

void History::take_up() {
  std::vector<fs::path> folders;
  for (fs::path& folder : state_folders()) {
    if (taken_up_.insert(folder).second) folders.push_back(std::move(folder));
  }
  if (folders.empty()) return;
  loop_.work([folders = std::move(folders)] { return kept_baselines(folders); },
             [this](const Result<KeptBaselines>& kept) {
               if (!kept) return;
               for (const std::string& id : kept->gone) {
                 client_.show(MessageType::info,
                              "The baseline " + features::plain(id) + " is not there any more: hints are not compared with it.");
               }
               for (const auto& [folder, baseline] : kept->baselines) {
                 const fs::path home = home_of(workspace_.folders, folder, baseline->folder);
                 if (!decided_.contains(home) && !baseline_in(home)) compare_with(home, baseline);
               }
             });
}

void History::recorded(const fs::path& bundle) {
  const fs::path home = home_of_bundle(bundle, {});
  if (chosen_.contains(home)) choose(home, {});
}

std::string History::label(const Document& document) const {
  const ProfileStore::Shared& shown = document.profile();
  if (!shown) return "";
  const fs::path home = home_of(workspace_.folders, document.path(), shown->folder);
  const ProfileStore::Shared baseline = baseline_in(home);
  std::string label;
  if (chosen_in(home).filename() == shown->id) label = "older profile";
  if (baseline && baseline->id != shown->id) {
    label.append(label.empty() ? "" : " · ").append("against ").append(spelled_time(baseline->created));
  }
  return label;
}

Json History::marks(const Document& document) const {
  Json list = Json::array();
  if (!document.in_step() || !document.baseline()) return list;
  const Places places(document.text(), document.lines(), client_.can.encoding);
  for (const features::Delta& delta : features::deltas(document.view(), *document.baseline(), {})) {
    if (!delta.of_module || delta.change() <= Ns{} || delta.state == source::State::edited) continue;
    list.push_back(
        {{"range", to_json(places.to_client(delta.range))},
         {"severity", severity::kInformation},
         {"source", "hotlens"},
         {"code", "slower"},
         {"message", features::plain(delta.subject) + " became slower. " + sentence(delta, *document.baseline()->view.profile)}});
  }
  return list;
}

void History::mark() {
  for (const auto& [uri, document] : workspace_.documents) client_.diagnose(uri, kPart, marks(document));
}

}  // namespace hotlens::session
