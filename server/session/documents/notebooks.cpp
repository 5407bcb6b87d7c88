#include "server/session/documents/notebooks.h"

#include <algorithm>
#include <utility>

namespace hotlens::session {

Notebooks::CellText::CellText(std::int64_t opened, std::string whole)
    : version(opened), text(std::move(whole)), lines(text), script(source::without_magics(text)) {}

void Notebooks::open(const std::string& uri, std::filesystem::path path, const std::vector<Cell>& cells) {
  Open& notebook = open_[uri];
  notebook.path = std::move(path);
  notebook.all = cells;
}

void Notebooks::close(const std::string& uri) {
  const auto found = open_.find(uri);
  if (found == open_.end()) return;
  for (const Cell& cell : found->second.all) texts_.erase(cell.uri);
  open_.erase(found);
}

void Notebooks::open_text(const std::string& cell, std::int64_t version, std::string text) {
  texts_.insert_or_assign(cell, CellText(version, std::move(text)));
}

bool Notebooks::replace(const std::string& uri, std::size_t start, std::size_t count, const std::vector<Cell>& cells) {
  const auto found = open_.find(uri);
  if (found == open_.end() || start > found->second.all.size() || count > found->second.all.size() - start) return false;
  std::vector<Cell>& all = found->second.all;
  const auto at = all.erase(all.begin() + static_cast<std::ptrdiff_t>(start), all.begin() + static_cast<std::ptrdiff_t>(start + count));
  all.insert(at, cells.begin(), cells.end());
  return true;
}

bool Notebooks::apply(const std::string& cell, std::int64_t version, const std::vector<Change>& changes, protocol::Encoding encoding) {
  const auto found = texts_.find(cell);
  if (found == texts_.end()) return false;
  CellText& text = found->second;
  text.version = version;
  for (const Change& change : changes) {
    if (!change.range) text.in_step = true;
    if (text.in_step) text.in_step = apply_change(text.text, text.lines, change.range, change.text, encoding);
  }
  text.script = text.in_step ? source::without_magics(text.text) : source::CellScript{};
  return text.in_step;
}

std::string Notebooks::script(const std::string& uri) {
  const auto found = open_.find(uri);
  if (found == open_.end()) return {};
  Open& notebook = found->second;
  notebook.cells.clear();
  std::vector<source::CellScript> scripts;
  for (const Cell& cell : notebook.all) {
    const auto text = texts_.find(cell.uri);
    if (!cell.code || text == texts_.end()) continue;
    notebook.cells.push_back(cell.uri);
    scripts.push_back(text->second.script);
  }
  source::Script script = source::script_of(scripts);
  notebook.starts = std::move(script.starts);
  notebook.lines = static_cast<std::uint32_t>(protocol::LineIndex(script.text).lines());
  ++notebook.version;
  return std::move(script.text);
}

const Notebooks::Notebook* Notebooks::find(const std::string& uri) const {
  const auto found = open_.find(uri);
  return found == open_.end() ? nullptr : &found->second;
}

std::optional<Notebooks::Span> Notebooks::span_of(const std::string& cell) const {
  if (!texts_.contains(cell)) return std::nullopt;
  for (const auto& [uri, notebook] : open_) {
    const auto at = std::ranges::find(notebook.cells, cell);
    if (at != notebook.cells.end()) return span(uri, notebook, static_cast<std::size_t>(at - notebook.cells.begin()));
  }
  return std::nullopt;
}

std::optional<Notebooks::Span> Notebooks::span_at(const std::string& uri, std::uint32_t line) const {
  const Notebook* notebook = find(uri);
  if (notebook == nullptr || notebook->cells.empty()) return std::nullopt;
  const auto after = std::ranges::upper_bound(notebook->starts, line);
  const auto cell = after == notebook->starts.begin() ? 0 : after - notebook->starts.begin() - 1;
  return span(uri, *notebook, static_cast<std::size_t>(cell));
}

Notebooks::Span Notebooks::span(const std::string& uri, const Notebook& notebook, std::size_t cell) const {
  const bool last = cell + 1 == notebook.cells.size();
  return {.notebook = uri,
          .cell = notebook.cells[cell],
          .first = notebook.starts[cell],
          .end = last ? notebook.lines : notebook.starts[cell + 1],
          .version = texts_.at(notebook.cells[cell]).version};
}

std::optional<std::uint32_t> Notebooks::line_of(const std::filesystem::path& path, std::uint32_t cell, std::uint32_t line) const {
  for (const auto& [uri, notebook] : open_) {
    if (notebook.path == path && cell >= 1 && cell <= notebook.starts.size()) return notebook.starts[cell - 1] + line;
  }
  return std::nullopt;
}

}  // namespace hotlens::session
