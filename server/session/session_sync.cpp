// What the client tells us: documents, folders, settings, trust.
#include <algorithm>

#include "protocol/uri.h"
#include "server/session/session.h"

namespace hotlens::session {

using protocol::Reader;

void Session::did_open(const Json& params) {
  const Reader item = Reader(params)["textDocument"];
  const std::string uri = item["uri"].string();
  const std::int64_t version = item["version"].integer();
  std::string text = item["text"].string();
  if (const auto error = item.error()) return reject_params("textDocument/didOpen", *error);
  auto path = protocol::path_of_uri(uri);
  if (!path) return;  // untitled, git, notebook cells: nothing ran from there
  Document& document = documents_.open(Document(uri, std::move(*path), version, std::move(text)));
  update_places();
  if (profiles_started_) {
    // The guess looks around open files, too: one from elsewhere may be the model's.
    const bool inside = std::ranges::any_of(
        folders_, [&](const std::filesystem::path& folder) { return std::ranges::mismatch(folder, document.path()).in1 == folder.end(); });
    if (!settings_.trace.empty() && !inside) open_trace();
    bind({&document}, true);
    store_.look();
  }
}

void Session::did_change(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const std::int64_t version = reader["textDocument"]["version"].integer();
  std::vector<Change> changes;
  for (const Reader& item : reader["contentChanges"].items()) {
    const auto range = item.maybe("range");
    changes.push_back({range ? std::optional(protocol::Range{}) : std::nullopt, item["text"].string()});
    if (range) {
      const auto start = (*range)["start"], end = (*range)["end"];
      changes.back().range = protocol::Range{{start["line"].unsigned32(), start["character"].unsigned32()},
                                             {end["line"].unsigned32(), end["character"].unsigned32()}};
    }
  }
  Document* document = documents_.find(uri);
  if (const auto error = reader.error()) {
    reject_params("textDocument/didChange", *error);
    // Its text is not what the client has any more: an edit nowhere puts it out of step until the next whole text.
    if (document != nullptr) document->apply(document->version(), {{protocol::Range{{1, 0}, {0, 0}}, {}}}, client_.can.encoding);
    return;
  }
  if (document == nullptr) return;
  const bool was_in_step = document->in_step();
  if (!document->apply(version, changes, client_.can.encoding) && was_in_step) {
    log_.warn("an edit does not fit " + document->path().filename().string() + "; it shows nothing until its whole text comes again");
  }
}

void Session::did_save(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (Document* document = documents_.find(uri)) document->saved();
  // A class may have moved from one file to another, the last of which was saved just now.
  std::vector<Document*> unknown;
  for (auto& [key, document] : documents_) {
    if (document.bound() && !document.has_facts()) unknown.push_back(&document);
  }
  if (!unknown.empty()) bind(unknown, true);
}

void Session::did_close(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (documents_.find(uri) == nullptr) return;
  documents_.close(uri);
  update_places();
}

void Session::did_change_folders(const Json& params) {
  const Reader reader(params);
  const auto paths = [&](std::string_view key) {
    std::vector<std::filesystem::path> list;
    for (const Reader& folder : reader["event"][key].items()) {
      if (auto path = protocol::path_of_uri(folder["uri"].string())) list.push_back(std::move(*path));
    }
    return list;
  };
  const auto removed = paths("removed"), added = paths("added");
  if (const auto error = reader.error()) return reject_params("workspace/didChangeWorkspaceFolders", *error);
  std::erase_if(folders_, [&](const auto& folder) {
    return std::ranges::find(removed, folder) != removed.end() || std::ranges::find(added, folder) != added.end();
  });
  folders_.insert(folders_.end(), added.begin(), added.end());
  update_places();
  store_.look();
}

void Session::did_change_configuration(const Json& params) {
  const auto pushed = params.is_object() ? params.find("settings") : params.end();
  if (params.is_object() && pushed != params.end() && pushed->is_object()) apply_settings(*pushed);
  pull_configuration();
}

void Session::pull_configuration() {
  if (!client_.can.configuration) return;
  client_.request("workspace/configuration", {{"items", {{{"section", "hotlens"}}}}}, [this](const Answer& answer) {
    if (answer && answer->is_array() && !answer->empty() && answer->front().is_object()) apply_settings(answer->front());
  });
}

// Every source is read over the initial options, so that a setting that was removed falls back to them.
void Session::apply_settings(const Json& value) {
  SettingsRead initial = read_settings(initial_options_, Settings{});
  SettingsRead read = value.is_null() ? initial : read_settings(value, initial.settings);
  for (const std::string& complaint : read.complaints) {
    if (complaints_.insert(complaint).second) client_.show(MessageType::warning, complaint);
  }
  const bool shown_changed =
      read.settings.hints_enabled != settings_.hints_enabled || read.settings.hints_min_percent != settings_.hints_min_percent;
  const bool other_trace = read.settings.trace != settings_.trace;
  settings_ = std::move(read.settings);
  store_.choose_rank(settings_.rank);
  if (other_trace && profiles_started_) open_trace();
  if (shown_changed) client_.refresh_hints();
}

void Session::did_change_watched_files(const Json& /*params*/) {
  store_.look();
}

void Session::set_trust(const Json& params) {
  const Reader reader(params);
  const bool trusted = reader["trusted"].boolean();
  if (const auto error = reader.error()) return reject_params("hotlens/trust", *error);
  if (trusted == trusted_) return;
  trusted_ = trusted;
  if (profiles_started_) bind_documents();  // which files a profile may name depends on it
  client_.refresh_lenses();
}

}  // namespace hotlens::session
