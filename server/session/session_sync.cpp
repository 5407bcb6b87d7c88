// What the client tells us: documents, folders, settings, trust.
#include <algorithm>
#include <utility>

#include "protocol/uri.h"
#include "server/session/session.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;

std::vector<std::filesystem::path> read_folders(const Reader& list) {
  std::vector<std::filesystem::path> folders;
  for (const Reader& folder : list.items()) {
    if (auto path = protocol::path_of_uri(folder["uri"].string())) folders.push_back(std::move(*path));
  }
  return folders;
}

}  // namespace

Session::Wrong Session::did_open(const Json& params) {
  const Reader item = Reader(params)["textDocument"];
  const std::string uri = item["uri"].string();
  const std::int64_t version = item["version"].integer();
  std::string text = item["text"].string();
  if (auto error = item.error()) return error;
  auto path = protocol::path_of_uri(uri);
  if (!path) return std::nullopt;  // untitled, git: nothing ran from there
  profiling_.went_on();
  stored_.look();
  profiles_.opened(workspace_.documents.open(Document(uri, std::move(*path), version, std::move(text))));
  history_.take_up();
  return std::nullopt;
}

Session::Wrong Session::did_change(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const std::int64_t version = reader["textDocument"]["version"].integer();
  const std::vector<Change> changes = read_changes(reader["contentChanges"]);
  Document* document = workspace_.documents.find(uri);
  if (auto error = reader.error()) {
    // Its text is not what the client has any more: an edit nowhere puts it out of step until the next whole text.
    if (document != nullptr) document->apply(document->version(), {{protocol::Range{{1, 0}, {0, 0}}, {}}}, client_.can.encoding);
    return error;
  }
  if (document == nullptr) return std::nullopt;
  profiling_.went_on();
  const bool was_in_step = document->in_step();
  if (!document->apply(version, changes, client_.can.encoding) && was_in_step) {
    conversation_.log().warn("an edit does not fit " + document->path().filename().string() +
                             "; it shows nothing until its whole text comes again");
  }
  edited_.edited(*document);
  advising_.mark();
  marks_.mark();
  return std::nullopt;
}

Session::Wrong Session::did_save(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (Document* document = workspace_.documents.find(uri)) document->saved();
  history_.mark();
  profiles_.bind_unknown();  // a class may have moved from one file to another, the last of which was saved just now
  return reader.error();
}

Session::Wrong Session::did_close(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (workspace_.documents.find(uri) == nullptr) return reader.error();
  workspace_.documents.close(uri);
  history_.closed(uri);
  edited_.closed(uri);
  advising_.closed(uri);
  marks_.closed(uri);
  profiles_.follow_places();
  return std::nullopt;
}

Session::Wrong Session::did_change_folders(const Json& params) {
  const Reader reader(params);
  const auto removed = read_folders(reader["event"]["removed"]), added = read_folders(reader["event"]["added"]);
  if (auto error = reader.error()) return error;
  std::erase_if(workspace_.folders, [&](const auto& folder) {
    return std::ranges::find(removed, folder) != removed.end() || std::ranges::find(added, folder) != added.end();
  });
  workspace_.folders.insert(workspace_.folders.end(), added.begin(), added.end());
  profiles_.follow_places();
  profiles_.look();
  history_.take_up();
  return std::nullopt;
}

Session::Wrong Session::did_change_configuration(const Json& params) {
  const auto pushed = params.is_object() ? params.find("settings") : params.end();
  if (params.is_object() && pushed != params.end() && pushed->is_object()) apply_settings(*pushed);
  pull_configuration();
  return std::nullopt;
}

void Session::pull_configuration() {
  if (!client_.can.configuration) return;
  client_.request("workspace/configuration", {{"items", {{{"section", "hotlens"}}}}}, [this](const protocol::Answer& answer) {
    if (answer && answer->is_array() && !answer->empty() && answer->front().is_object()) apply_settings(answer->front());
  });
}

// Every source is read over the initial options, so that a setting that was removed falls back to them.
void Session::apply_settings(const Json& value) {
  const SettingsRead initial = read_settings(initial_options_, Settings{});
  const SettingsRead read = value.is_null() ? initial : read_settings(value, initial.settings);
  for (const std::string& complaint : read.complaints) {
    if (complaints_.insert(complaint).second) client_.show(MessageType::warning, complaint);
  }
  const Settings before = std::exchange(workspace_.settings, read.settings);
  profiles_.follow_settings(before);
  const bool moved = read.settings.hints_place != before.hints_place;
  if (moved) client_.refresh_hints();  // from where they stood
  client_.hints_are_lenses = read.settings.hints_place == HintPlace::above && !client_.can.renders_hints;
  const bool shown_changed = read.settings.hints_enabled != before.hints_enabled ||
                             read.settings.hints_min_percent != before.hints_min_percent || read.settings.hints_unit != before.hints_unit ||
                             read.settings.hints_long_line != before.hints_long_line || read.settings.heat != before.heat ||
                             read.settings.symbols != before.symbols;
  if (shown_changed || moved) client_.refresh_hints();
}

Session::Wrong Session::set_trust(const Json& params) {
  const Reader reader(params);
  const bool trusted = reader["trusted"].boolean();
  if (auto error = reader.error()) return error;
  if (trusted == workspace_.trusted) return std::nullopt;
  workspace_.trusted = trusted;
  if (!trusted) edited_.stop();
  profiles_.bind_all();  // which files a profile may name depends on it
  client_.refresh_lenses();
  timeline_.batch_sizes_changed();
  return std::nullopt;
}

}  // namespace hotlens::session
