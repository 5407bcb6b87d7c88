// Inlay hints in the client's terms, as JSON text: an answer may hold thousands, so they are written as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/features/features.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {

// After begin() come at most one origin() and one tooltip() of that hint.
class HintWriter {
 public:
  // `uri`: of the document, `places`: its text; both outlive the writer.
  HintWriter(const std::string& uri, const Places& places, bool markdown) : uri_(uri), places_(places), markdown_(markdown) {}

  // `parts`: the label of a line with several calls in pieces, each with its own tooltip and definition; else always as plain text.
  void begin(const features::Hint& hint, protocol::Position at, bool parts);
  // What a client that resolves the tooltip later sends back.
  void origin(std::int64_t document, std::int64_t version);
  void tooltip(std::string_view text);

  std::string take() &&;

 private:
  void label(const features::Hint& hint);

  const std::string& uri_;
  const Places& places_;
  bool markdown_;
  std::string list_ = "[";  // without the end of the last hint
};

}  // namespace hotlens::session
