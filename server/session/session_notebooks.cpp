// What the client tells us of notebooks: cells that come, go and change. Each notebook is one document, the script of its cells.
#include <utility>

#include "protocol/uri.h"
#include "server/session/session.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;

constexpr std::int64_t kCodeCell = 2;  // LSP's NotebookCellKind

std::vector<Notebooks::Cell> read_cells(const Reader& list) {
  std::vector<Notebooks::Cell> cells;
  for (const Reader& cell : list.items()) {
    cells.push_back({.code = cell["kind"].integer() == kCodeCell, .uri = cell["document"].string()});
  }
  return cells;
}

struct CellText {
  std::string uri;
  std::int64_t version = 0;
  std::string text;
};

std::vector<CellText> read_texts(const std::optional<Reader>& list) {
  std::vector<CellText> texts;
  for (const Reader& item : list ? list->items() : std::vector<Reader>{}) {
    texts.push_back({item["uri"].string(), item["version"].integer(), item["text"].string()});
  }
  return texts;
}

// Cells that are replaced by others, with their texts.
struct Structure {
  std::uint32_t start = 0, count = 0;
  std::vector<Notebooks::Cell> cells;
  std::vector<CellText> opened;
  std::vector<std::string> closed;
};

Structure read_structure(const Reader& reader) {
  const Reader array = reader["array"];
  Structure structure{.start = array["start"].unsigned32(), .count = array["deleteCount"].unsigned32()};
  if (const auto cells = array.maybe("cells")) structure.cells = read_cells(*cells);
  structure.opened = read_texts(reader.maybe("didOpen"));
  if (const auto closed = reader.maybe("didClose")) {
    for (const Reader& each : closed->items()) structure.closed.push_back(each["uri"].string());
  }
  return structure;
}

struct TextChange {
  std::string uri;
  std::int64_t version = 0;
  std::vector<Change> changes;
};

std::vector<TextChange> read_text_changes(const std::optional<Reader>& list) {
  std::vector<TextChange> all;
  for (const Reader& each : list ? list->items() : std::vector<Reader>{}) {
    all.push_back({each["document"]["uri"].string(), each["document"]["version"].integer(), read_changes(each["changes"])});
  }
  return all;
}

}  // namespace

Session::Wrong Session::did_open_notebook(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["notebookDocument"]["uri"].string();
  const auto cells = read_cells(reader["notebookDocument"]["cells"]);
  const auto texts = read_texts(reader.maybe("cellTextDocuments"));
  if (auto error = reader.error()) return error;
  auto path = protocol::path_of_uri(uri);
  if (!path) return std::nullopt;  // untitled: nothing ran from there
  workspace_.notebooks.open(uri, *path, cells);
  for (const CellText& text : texts) workspace_.notebooks.open_text(text.uri, text.version, text.text);
  stored_.look();
  std::string script = workspace_.notebooks.script(uri);
  const std::int64_t version = workspace_.notebooks.find(uri)->version;
  profiles_.opened(workspace_.documents.open(Document(uri, std::move(*path), version, std::move(script))));
  history_.take_up();
  return std::nullopt;
}

Session::Wrong Session::did_change_notebook(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["notebookDocument"]["uri"].string();
  const auto cells = reader["change"].maybe("cells");
  const auto structure = cells ? cells->maybe("structure") : std::nullopt;
  const std::optional<Structure> replaced = structure ? std::optional(read_structure(*structure)) : std::nullopt;
  const auto changed = read_text_changes(cells ? cells->maybe("textContent") : std::nullopt);
  if (auto error = reader.error()) return error;
  Notebooks& notebooks = workspace_.notebooks;
  if (notebooks.find(uri) == nullptr) return std::nullopt;
  if (replaced) {
    for (const CellText& text : replaced->opened) notebooks.open_text(text.uri, text.version, text.text);
    if (!notebooks.replace(uri, replaced->start, replaced->count, replaced->cells)) {
      conversation_.log().warn("a change of cells does not fit " + uri);
    }
    for (const std::string& cell : replaced->closed) notebooks.close_text(cell);
  }
  for (const TextChange& text : changed) {
    if (!notebooks.apply(text.uri, text.version, text.changes, client_.can.encoding)) {
      conversation_.log().warn("an edit does not fit a cell of " + uri + "; the cell shows nothing until its whole text comes again");
    }
  }
  if (replaced || !changed.empty()) script_changed(uri);
  if (replaced) client_.refresh_hints();  // cells that moved are not asked for by themselves
  return std::nullopt;
}

void Session::script_changed(const std::string& uri) {
  Document* document = workspace_.documents.find(uri);
  if (document == nullptr) return;
  std::string script = workspace_.notebooks.script(uri);
  if (script == document->text()) return;
  profiling_.went_on();
  document->apply(workspace_.notebooks.find(uri)->version, {{std::nullopt, std::move(script)}}, client_.can.encoding);
  edited_.edited(*document);
  advising_.mark();
  marks_.mark();
}

Session::Wrong Session::did_save_notebook(const Json& params) {
  return did_save({{"textDocument", Reader(params)["notebookDocument"].json()}});
}

Session::Wrong Session::did_close_notebook(const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["notebookDocument"]["uri"].string();
  if (auto error = reader.error()) return error;
  const Wrong wrong = did_close({{"textDocument", {{"uri", uri}}}});
  workspace_.notebooks.close(uri);
  return wrong;
}

}  // namespace hotlens::session
