// The notebooks that the client has open. The rest of the session knows each as one document: the script that its code cells make.
//
// A client speaks of cells, each with a URI and lines of its own; `cell_places.h` puts what it asks into the script's lines, and what it is
// told into its cells'. Only code cells are counted; a cell whose edits did not fit reads as empty until its whole text comes again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "annotator/source/notebook/notebook.h"
#include "protocol/text.h"
#include "server/session/documents/documents.h"

namespace hotlens::session {

class Notebooks {
 public:
  struct Notebook {
    std::filesystem::path path;
    std::int64_t version = 0;           // of the script: one more with every change
    std::vector<std::string> cells;     // URIs of the code cells, in their order
    std::vector<std::uint32_t> starts;  // by code cell: its first line in the script
    std::uint32_t lines = 0;            // of the script
  };
  // Lines of a script: those of one cell. What stands before the first cell counts for it.
  struct Span {
    std::string notebook;  // its URI
    std::string cell;
    std::uint32_t first = 0, end = 0;
    std::int64_t version = 0;  // of the cell
  };
  struct Cell {
    bool code = true;
    std::string uri;
  };

  void open(const std::string& uri, std::filesystem::path path, const std::vector<Cell>& cells);
  void close(const std::string& uri);
  void open_text(const std::string& cell, std::int64_t version, std::string text);
  void close_text(const std::string& cell) { texts_.erase(cell); }
  // Replaces `count` cells from `start` on, both counted over all cells that the client sends. False where there are no such cells.
  bool replace(const std::string& uri, std::size_t start, std::size_t count, const std::vector<Cell>& cells);
  // False when a change did not fit.
  bool apply(const std::string& cell, std::int64_t version, const std::vector<Change>& changes, protocol::Encoding encoding);
  // The script as it is now, under the next version.
  std::string script(const std::string& uri);

  bool empty() const { return open_.empty(); }
  const Notebook* find(const std::string& uri) const;
  std::optional<Span> span_of(const std::string& cell) const;
  // The cell of a line of the script; nothing where the notebook has no code cell.
  std::optional<Span> span_at(const std::string& uri, std::uint32_t line) const;
  // The script's line of a line of the k-th code cell, counted from 1; nothing where there is no such cell.
  std::optional<std::uint32_t> line_of(const std::filesystem::path& path, std::uint32_t cell, std::uint32_t line) const;

 private:
  struct CellText {
    CellText(std::int64_t opened, std::string whole);
    std::int64_t version;
    std::string text;
    protocol::LineIndex lines;
    source::CellScript script;
    bool in_step = true;
  };
  struct Open : Notebook {
    std::vector<Cell> all;  // with those that are no code
  };
  Span span(const std::string& uri, const Notebook& notebook, std::size_t cell) const;

  std::map<std::string, Open> open_;
  std::unordered_map<std::string, CellText> texts_;
};

}  // namespace hotlens::session
