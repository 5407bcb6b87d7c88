// From the annotator's places (lines ending at \n, columns in bytes) to the client's (LSP lines, negotiated units) and back; and features'
// results as LSP JSON.
#pragma once

#include <string_view>

#include "annotator/source/anchors.h"
#include "protocol/json.h"
#include "protocol/reader.h"
#include "protocol/text.h"
#include "server/features/features.h"

namespace hotlens::session {

// The conversion for one version of one text; views both and must not outlive them.
class Places {
 public:
  Places(std::string_view text, const protocol::LineIndex& index, protocol::Encoding encoding);

  source::Position to_source(protocol::Position position) const;
  protocol::Position to_client(source::Position position) const;
  protocol::Range to_client(const source::Range& range) const;

 private:
  std::size_t offset_of(source::Position position) const;

  std::string_view text_;
  const protocol::LineIndex& index_;
  protocol::Encoding encoding_;
  bool same_lines_;  // no lone \r: both sides count the same lines
};

// The edit that turns one text into the other: what lies between their common beginning and their common end. Nullopt for equal texts.
std::optional<source::Edit> edit_between(std::string_view before, std::string_view after);

// Whether a request for code actions asks for this kind: by itself, by a prefix of it that ends at a dot, or for all.
bool wants_kind(const protocol::Reader& params, std::string_view kind);

protocol::Position read_position(const protocol::Reader& reader);
protocol::Range read_range(const protocol::Reader& reader);
protocol::Json to_json(protocol::Position position);
protocol::Json to_json(const protocol::Range& range);
// LSP's WorkspaceEdit: edits of one document, in the form that the client takes. No version: the client does not have it open.
protocol::Json workspace_edit(const std::string& uri, std::optional<std::int64_t> version, const protocol::Json& edits,
                              bool document_changes);
protocol::Json markup(std::string_view text, bool markdown);

}  // namespace hotlens::session
