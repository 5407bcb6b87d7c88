#include "server/session/client/capabilities.h"

#include <algorithm>

#include "protocol/messages.h"
#include "protocol/uri.h"

namespace hotlens::session {
namespace {

using protocol::Encoding;
using protocol::Json;

const Json& at(const Json& value, std::string_view path) {
  static const Json kAbsent;
  const Json* here = &value;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    const auto found = here->is_object() ? here->find(path.substr(0, slash)) : here->end();
    if (!here->is_object() || found == here->end()) return kAbsent;
    here = &*found;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return *here;
}

bool yes(const Json& value, std::string_view path) {
  const Json& found = at(value, path);
  return found.is_boolean() && found.get<bool>();
}

std::string text(const Json& value, std::string_view path) {
  const Json& found = at(value, path);
  return found.is_string() ? found.get<std::string>() : std::string();
}

bool lists(const Json& value, std::string_view path, std::string_view item) {
  const Json& found = at(value, path);
  return found.is_array() && std::ranges::any_of(found, [&](const Json& one) { return one == item; });
}

// The client's first offer that we know; what every client must understand otherwise.
Encoding choose_encoding(const Json& capabilities) {
  const Json& offers = at(capabilities, "general/positionEncodings");
  if (offers.is_array()) {
    for (const Json& offer : offers) {
      if (!offer.is_string()) continue;
      if (const auto known = protocol::encoding(offer.get<std::string>())) return *known;
    }
  }
  return Encoding::utf16;
}

// Where several servers have an outline of a file, clients show it above ours.
constexpr const char* kSymbolsLabel = "Hotlens";

ClientCapabilities read_capabilities(const Json& all) {
  const Json& own = at(all, "experimental/hotlens");
  return {.encoding = choose_encoding(all),
          .hover_markdown = lists(all, "textDocument/hover/contentFormat", "markdown"),
          .hint_refresh = yes(all, "workspace/inlayHint/refreshSupport"),
          .hint_lazy_tooltip = lists(all, "textDocument/inlayHint/resolveSupport/properties", "tooltip"),
          .lens_refresh = yes(all, "workspace/codeLens/refreshSupport"),
          .action_literals = at(all, "textDocument/codeAction/codeActionLiteralSupport").is_object(),
          .action_disabled = yes(all, "textDocument/codeAction/disabledSupport"),
          .document_changes = yes(all, "workspace/workspaceEdit/documentChanges"),
          .apply_edit = yes(all, "workspace/applyEdit"),
          .progress = yes(all, "window/workDoneProgress"),
          .configuration = yes(all, "workspace/configuration"),
          .register_configuration = yes(all, "workspace/didChangeConfiguration/dynamicRegistration"),
          .register_watched_files = yes(all, "workspace/didChangeWatchedFiles/dynamicRegistration"),
          .own_messages = own.is_object(),
          .renders_hints = yes(own, "clientRendersHints"),
          .images = yes(own, "images"),
          .shows_timeline = at(own, "showTimeline").is_object(),
          .command_links = yes(own, "showTimeline/commandLinks"),
          .compares = yes(own, "showTimeline/compare"),
          .timeline_words = text(own, "showTimeline/words"),
          .show_document = yes(all, "window/showDocument/support"),
          .message_actions = at(all, "window/showMessage/messageActionItem").is_object(),
          .dialogs = yes(own, "dialogs"),
          .output = yes(own, "output"),
          .symbol_trees = yes(all, "textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
          .register_symbols = yes(all, "textDocument/documentSymbol/dynamicRegistration"),
          .calls = yes(own, "calls"),
          .clipboard = yes(own, "clipboard"),
          .heat = yes(own, "heat")};
}

std::vector<std::filesystem::path> read_folders(const Json& params) {
  std::vector<std::filesystem::path> folders;
  const auto add = [&](const Json& uri) {
    if (!uri.is_string()) return;
    auto path = protocol::path_of_uri(uri.get<std::string>());
    if (path && !path->has_filename()) *path = path->parent_path();  // a trailing slash
    if (path && std::ranges::find(folders, *path) == folders.end()) folders.push_back(std::move(*path));
  };
  if (const Json& list = at(params, "workspaceFolders"); list.is_array()) {
    for (const Json& folder : list) add(at(folder, "uri"));
  }
  if (folders.empty()) add(at(params, "rootUri"));
  if (const Json& root = at(params, "rootPath"); folders.empty() && root.is_string()) {
    if (const std::filesystem::path path = root.get<std::string>(); path.is_absolute()) folders.push_back(path);
  }
  return folders;
}

}  // namespace

Initialize read_initialize(const Json& params) {
  Initialize read{.folders = read_folders(params),
                  .options = at(params, "initializationOptions"),
                  .client = read_capabilities(at(params, "capabilities"))};
  if (const Json& id = at(params, "processId"); id.is_number_integer()) read.process_id = id.get<std::int64_t>();
  if (const Json& name = at(params, "clientInfo/name"); name.is_string()) read.client_name = name.get<std::string>();
  return read;
}

Json initialize_result(const ClientCapabilities& client) {
  Json commands = Json::array();
  for (const protocol::CommandSpec& command : protocol::kCommands) commands.push_back(command.id);
  Json capabilities = {
      {"positionEncoding", name(client.encoding)},
      {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
      {"notebookDocumentSync",
       {{"notebookSelector", Json::array({{{"notebook", "jupyter-notebook"}, {"cells", Json::array({{{"language", "python"}}})}}})},
        {"save", true}}},
      {"hoverProvider", true},
      {"codeLensProvider", {{"resolveProvider", false}}},
      {"executeCommandProvider", {{"commands", commands}}},
      {"workspace", {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}},
      {"experimental", {{"hotlens", {{"protocolVersion", protocol::kProtocolVersion}}}}},
  };
  if (client.action_literals) {
    capabilities["codeActionProvider"] = {
        {"codeActionKinds", {"hotlens.profile", "hotlens.show", "hotlens.whatIf", "quickfix", "refactor.rewrite"}},
        {"resolveProvider", false}};
  } else {
    capabilities["codeActionProvider"] = true;
  }
  if (!client.renders_hints) capabilities["inlayHintProvider"] = {{"resolveProvider", client.hint_lazy_tooltip}};
  if (client.symbol_trees && !client.register_symbols) capabilities["documentSymbolProvider"] = {{"label", kSymbolsLabel}};
  return {{"capabilities", capabilities}, {"serverInfo", {{"name", "hotlens"}, {"version", HOTLENS_VERSION}}}};
}

Json symbols_registration() {
  const Json python = {{"scheme", "file"}, {"language", "python"}};
  const Json cells = {{"notebook", "jupyter-notebook"}, {"language", "python"}};
  return {{"id", kSymbolsId},
          {"method", "textDocument/documentSymbol"},
          {"registerOptions", {{"documentSelector", Json::array({python, cells})}, {"label", kSymbolsLabel}}}};
}

Json registrations(const ClientCapabilities& client) {
  Json list = Json::array();
  if (client.symbol_trees && client.register_symbols) list.push_back(symbols_registration());
  if (client.register_configuration) {
    list.push_back(
        {{"id", "hotlens-configuration"}, {"method", "workspace/didChangeConfiguration"}, {"registerOptions", {{"section", "hotlens"}}}});
  }
  if (client.register_watched_files) {
    const Json watchers =
        Json::array({{{"globPattern", "**/.hotlens/profiles/*/manifest.json"}}, {{"globPattern", "**/.hotlens/runs.json"}}});
    list.push_back(
        {{"id", "hotlens-profiles"}, {"method", "workspace/didChangeWatchedFiles"}, {"registerOptions", {{"watchers", watchers}}}});
  }
  return list;
}

}  // namespace hotlens::session
