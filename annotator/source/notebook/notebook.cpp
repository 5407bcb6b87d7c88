#include "annotator/source/notebook/notebook.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "annotator/common/file.h"
#include "annotator/common/harmless.h"

namespace hotlens::source {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kHeader = "# coding: utf-8\n";

std::unexpected<Error> malformed(const std::string& message, const std::string& name) {
  return std::unexpected(Error{ErrorCode::malformed, name + message, name});
}

std::string text_at(const Json& object, std::initializer_list<const char*> keys) {
  const Json* here = &object;
  for (const char* key : keys) {
    const auto found = here->is_object() ? here->find(key) : here->end();
    if (!here->is_object() || found == here->end()) return {};
    here = &*found;
  }
  return here->is_string() ? here->get<std::string>() : std::string();
}

// A source is one text or a list of them.
std::string joined(const Json& cell, const char* key) {
  const auto source = cell.find(key);
  if (source == cell.end()) return {};
  if (source->is_string()) return source->get<std::string>();
  std::string text;
  for (const Json& part : source->is_array() ? *source : Json::array()) {
    if (part.is_string()) text += part.get<std::string>();
  }
  return text;
}

void add_cells(const Json& cells, std::vector<CellScript>& all) {
  for (const Json& cell : cells.is_array() ? cells : Json::array()) {
    if (text_at(cell, {"cell_type"}) == "code") all.push_back(without_magics(joined(cell, cell.contains("source") ? "source" : "input")));
  }
}

bool is_python(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name.empty() || name == "python" || name == "python3" || name == "ipython";
}

}  // namespace

bool is_notebook(const std::filesystem::path& file) {
  return file.extension() == ".ipynb";
}

Script script_of(std::span<const CellScript> cells) {
  Script script;
  std::vector<std::string> futures;
  for (const CellScript& cell : cells) {
    for (const std::string& name : cell.futures) {
      if (std::ranges::find(futures, name) == futures.end()) futures.push_back(name);
    }
  }
  for (const std::string& name : futures) script.text += (script.text.empty() ? "from __future__ import " : ", ") + name;
  script.text += futures.empty() ? kHeader : "\n";
  script.written = "\n";
  std::uint32_t line = 1;
  for (const CellScript& cell : cells) {
    script.starts.push_back(line);
    script.text += cell.text;
    script.written += cell.written;
    for (std::size_t at = cell.text.find_first_of("\r\n"); at != std::string::npos; at = cell.text.find_first_of("\r\n", at + 1)) {
      if (cell.text[at] == '\n' || at + 1 == cell.text.size() || cell.text[at + 1] != '\n') ++line;
    }
  }
  return script;
}

Result<Script> script_of_notebook(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return Script{};  // VS Code makes new ones so
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return malformed(" is no notebook: it is not JSON. Save it again from your editor.", name);
  const bool old = document.is_object() && !document.contains("cells") && document.contains("worksheets");
  const auto cells = document.is_object() ? document.find(old ? "worksheets" : "cells") : document.end();
  if (!document.is_object() || cells == document.end() || !cells->is_array()) {
    return malformed(" is no notebook: it has no list of cells. Name an .ipynb file that Jupyter or VS Code has saved.", name);
  }
  std::string language = text_at(document, {"metadata", "kernelspec", "language"});
  if (language.empty()) language = text_at(document, {"metadata", "language_info", "name"});
  if (!is_python(language)) return malformed(" is a notebook for " + harmless(language) + ". Hotlens runs Python notebooks only.", name);
  std::vector<CellScript> scripts;
  if (!old) add_cells(*cells, scripts);
  for (const Json& sheet : old ? *cells : Json::array()) {
    if (sheet.is_object() && sheet.contains("cells")) add_cells(sheet["cells"], scripts);
  }
  return script_of(scripts);
}

Result<Script> read_source(const std::filesystem::path& file, std::size_t most) {
  const bool notebook = is_notebook(file);
  Result<std::string> text = read_file(file, notebook ? kMostNotebook : most);
  if (!text) return std::unexpected(text.error());
  if (!notebook) return Script{.text = *text, .written = std::move(*text), .starts = {}};
  Result<Script> script = script_of_notebook(*text, file.filename().string());
  if (script && script->text.size() > most) return malformed(" has too much code for one notebook.", file.filename().string());
  return script;
}

}  // namespace hotlens::source
