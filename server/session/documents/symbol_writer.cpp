#include "server/session/documents/symbol_writer.h"

#include <array>
#include <utility>

#include "annotator/common/json_text.h"

namespace hotlens::session {
namespace {

int lsp_kind(features::Symbol::Kind kind) {
  constexpr int kClass = 5, kMethod = 6, kField = 8, kFunction = 12, kEvent = 24, kOperator = 25;
  constexpr std::array kKinds{kClass, kMethod, kFunction, kField, kEvent, kOperator};  // in the order of Symbol::Kind
  return kKinds.at(static_cast<std::size_t>(kind));
}

class SymbolWriter {
 public:
  explicit SymbolWriter(const Places& places) : places_(places) {}

  void list(const std::vector<features::Symbol>& symbols) {
    text_ += '[';
    for (const features::Symbol& symbol : symbols) {
      if (text_.back() != '[') text_ += ',';
      one(symbol);
    }
    text_ += ']';
  }
  std::string take() && { return std::move(text_); }

 private:
  void one(const features::Symbol& symbol) {
    text_ += R"({"name":)";
    text_ += json_string(symbol.name);
    text_ += R"(,"detail":)";
    text_ += json_string(symbol.detail);
    text_ += R"(,"kind":)";
    text_ += std::to_string(lsp_kind(symbol.kind));
    text_ += R"(,"range":)";
    const std::size_t begin = text_.size();
    range(places_.to_client(symbol.range));
    const std::size_t end = text_.size();
    text_ += R"(,"selectionRange":)";
    if (symbol.selection == symbol.range) {
      text_.append(text_, begin, end - begin);
    } else {
      range(places_.to_client(symbol.selection));
    }
    if (!symbol.children.empty()) {
      text_ += R"(,"children":)";
      list(symbol.children);
    }
    text_ += '}';
  }
  void range(const protocol::Range& range) {
    text_ += R"({"start":)";
    position(range.start);
    text_ += R"(,"end":)";
    position(range.end);
    text_ += '}';
  }
  void position(protocol::Position at) {
    text_ += R"({"line":)";
    text_ += std::to_string(at.line);
    text_ += R"(,"character":)";
    text_ += std::to_string(at.character);
    text_ += '}';
  }

  const Places& places_;
  std::string text_;
};

}  // namespace

std::string symbols_text(const std::vector<features::Symbol>& symbols, const Places& places) {
  SymbolWriter writer(places);
  writer.list(symbols);
  return std::move(writer).take();
}

}  // namespace hotlens::session
