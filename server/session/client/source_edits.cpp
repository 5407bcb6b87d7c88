#include "server/session/client/source_edits.h"

#include <utility>

#include "protocol/uri.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {

using protocol::Json;

Json not_applied(const std::string& why) {
  return {{"applied", false}, {"message", why}};
}

void send_edit(Client& client, const std::string& label, Json edit, std::shared_ptr<protocol::Reply> reply) {
  client.request("workspace/applyEdit", {{"label", label}, {"edit", std::move(edit)}}, [reply](const protocol::Answer& answer) {
    if (answer && answer->is_object() && answer->value("applied", false)) return (*reply)(Json{{"applied", true}});
    (*reply)(not_applied("The editor did not take the edit: the text changed meanwhile, or the file cannot be written. Try again."));
  });
}

Json workspace_edit(const advice::Edits& edits, const advice::Sources& sources, const OpenDocument& open, const ClientCapabilities& can) {
  Json changes = Json::object(), versioned = Json::array();
  for (const advice::FileEdit& file : edits) {
    const advice::SourceText& source = sources.files[file.file];
    const protocol::LineIndex lines(source.text);
    const auto at = [&](std::uint32_t byte) { return position_at(source.text, lines, byte, can.encoding); };
    Json list = Json::array();
    for (const advice::Replacement& one : file.replacements) {
      list.push_back({{"range", to_json(protocol::Range{at(one.span.begin), at(one.span.end)})}, {"newText", one.text}});
    }
    const Document* document = open(source.path);
    const std::string uri = document != nullptr ? document->uri() : protocol::uri_of_path(source.path);
    const Json version = document != nullptr ? Json(document->version()) : Json();
    versioned.push_back({{"textDocument", {{"uri", uri}, {"version", version}}}, {"edits", list}});
    changes[uri] = std::move(list);
  }
  return can.document_changes ? Json{{"documentChanges", std::move(versioned)}} : Json{{"changes", std::move(changes)}};
}

}  // namespace hotlens::session
