#include "server/session/documents/hint_writer.h"

#include <utility>

#include "annotator/common/json_text.h"

namespace hotlens::session {
namespace {

std::string position_text(protocol::Position at) {
  return R"({"line":)" + std::to_string(at.line) + R"(,"character":)" + std::to_string(at.character) + "}";
}

std::string markup_text(std::string_view text, bool markdown) {
  return std::string(markdown ? R"({"kind":"markdown","value":)" : R"({"kind":"plaintext","value":)") + json_string(text) + "}";
}

}  // namespace

void HintWriter::begin(const features::Hint& hint, protocol::Position at, bool parts) {
  if (list_.size() > 1) list_ += "},";
  list_ += R"({"position":)" + position_text(at) + (hint.before ? R"(,"paddingRight":true)" : R"(,"paddingLeft":true)") + R"(,"label":)";
  if (parts && !hint.parts.empty()) {
    label(hint);
  } else {
    list_ += json_string(hint.label);
  }
}

void HintWriter::label(const features::Hint& hint) {
  list_ += '[';
  for (const features::LabelPart& part : hint.parts) {
    if (list_.back() != '[') list_ += ',';
    list_ += R"({"value":)" + json_string(part.text);
    if (!part.tooltip.empty()) list_ += R"(,"tooltip":)" + markup_text(part.tooltip, markdown_);
    if (part.definition) {
      const std::string at = position_text(places_.to_client(*part.definition));
      list_ += R"(,"location":{"uri":)" + json_string(uri_) + R"(,"range":{"start":)" + at + R"(,"end":)" + at + "}}";
    }
    list_ += '}';
  }
  list_ += ']';
}

void HintWriter::origin(std::int64_t document, std::int64_t version) {
  list_ += R"(,"data":[)" + std::to_string(document) + "," + std::to_string(version) + "]";
}

void HintWriter::tooltip(std::string_view text) {
  list_ += R"(,"tooltip":)" + markup_text(text, markdown_);
}

std::string HintWriter::take() && {
  list_ += list_.size() > 1 ? "}]" : "]";
  return std::move(list_);
}

}  // namespace hotlens::session
