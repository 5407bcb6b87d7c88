// What the client can do, and what we offer such a client. Pure: tests hold both to recorded initialize requests.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "protocol/json.h"
#include "protocol/text.h"

namespace hotlens::session {

struct ClientCapabilities {
  protocol::Encoding encoding = protocol::Encoding::utf16;  // the one we chose
  bool hover_markdown = false;
  bool hint_refresh = false;
  bool hint_lazy_tooltip = false;  // lists "tooltip": it resolves what we leave out
  bool lens_refresh = false;
  bool action_literals = false;
  bool action_disabled = false;
  bool document_changes = false;  // edits name the version they are for
  bool apply_edit = false;        // it applies edits that the server sends
  bool progress = false;
  bool configuration = false;
  bool register_configuration = false;
  bool register_watched_files = false;
  bool own_messages = false;  // experimental.hotlens
  bool renders_hints = false;
  bool images = false;
  bool shows_timeline = false;  // experimental.hotlens.showTimeline: "show in timeline" may be offered
  bool command_links = false;   // …commandLinks: Markdown may link to its command hotlens.showTimeline
  bool compares = false;        // …compare: it shows two profiles above each other, and has the command hotlens.compareWithBaseline
  std::string timeline_words;   // …words: what a person types there to see the timeline, for a client without links
  bool show_document = false;
  bool message_actions = false;   // a message may have buttons
  bool dialogs = false;           // …dialogs: it answers `hotlens/prompt` and understands `hotlens/showLog`
  bool output = false;            // …output: it shows what a script prints, from `hotlens/output`
  bool symbol_trees = false;      // it shows document symbols inside each other, with details
  bool register_symbols = false;  // …and asks again where the provider is registered again
  bool calls = false;             // …calls: it lists what `hotlens.server.calls` answers
  bool clipboard = false;         // …clipboard: it copies what `hotlens.server.describe` answers
  bool heat = false;              // …heat: it draws marks from `hotlens/heat`
};

struct Initialize {
  std::optional<std::int64_t> process_id;
  std::string client_name;
  std::vector<std::filesystem::path> folders;
  protocol::Json options;  // initializationOptions
  ClientCapabilities client;
};

// Missing or oddly shaped parts count as absent: a client with a strange capability still gets its server.
Initialize read_initialize(const protocol::Json& params);

protocol::Json initialize_result(const ClientCapabilities& client);

// Registrations for `client/registerCapability`, sent after `initialized`; empty when the client wants none.
protocol::Json registrations(const ClientCapabilities& client);

inline constexpr const char* kSymbolsId = "hotlens-symbols";
// The one of them for document symbols.
protocol::Json symbols_registration();

}  // namespace hotlens::session
