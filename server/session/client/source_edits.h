// Edits of the script's texts as a client takes them: in the version that it has open, else of the file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "annotator/advice/edits/edits.h"
#include "protocol/rpc.h"
#include "server/session/client/capabilities.h"
#include "server/session/client/client.h"
#include "server/session/documents/documents.h"

namespace hotlens::session {

// The answer to who asked for an edit.
protocol::Json not_applied(const std::string& why);

// Asks the client for an edit, as one step that undo takes back under `label`, and says whether it took it.
void send_edit(Client& client, const std::string& label, protocol::Json edit, std::shared_ptr<protocol::Reply> reply);

// The document of a file that is open; null: it is not.
using OpenDocument = std::function<const Document*(const std::filesystem::path& file)>;

// A WorkspaceEdit: of all files at once.
protocol::Json workspace_edit(const advice::Edits& edits, const advice::Sources& sources, const OpenDocument& open,
                              const ClientCapabilities& can);

}  // namespace hotlens::session
