#include "server/session/documents/cell_places.h"

#include <algorithm>
#include <optional>

#include "protocol/json.h"

namespace hotlens::session {
namespace {

using protocol::Answer;
using protocol::Json;
using protocol::Outcome;
using protocol::Written;
using Span = Notebooks::Span;

// What a client sends of a text is the business of who keeps it.
constexpr std::string_view kSync = "textDocument/did";

Json* at(Json& value, std::initializer_list<const char*> keys) {
  Json* here = &value;
  for (const char* key : keys) {
    if (!here->is_object()) return nullptr;
    const auto found = here->find(key);
    if (found == here->end()) return nullptr;
    here = &*found;
  }
  return here;
}

std::optional<std::uint32_t> line_in(const Json* value) {
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  const auto line = value->get<std::int64_t>();
  return line >= 0 && line < 0x7fffffff ? std::optional(static_cast<std::uint32_t>(line)) : std::nullopt;
}

void line_into_script(Json* line, const Span& span) {
  if (const auto number = line_in(line)) *line = std::min(std::uint64_t{span.first} + *number, std::uint64_t{span.end});
}

void into_script(Json& params, const Span& span) {
  line_into_script(at(params, {"position", "line"}), span);
  line_into_script(at(params, {"range", "start", "line"}), span);
  line_into_script(at(params, {"range", "end", "line"}), span);
}

// What lies before the cell is at its first line, what lies behind it at its last.
void line_into_cell(Json* line, const Span& span) {
  if (const auto number = line_in(line)) *line = std::min(std::max(*number, span.first), std::max(span.first, span.end - 1)) - span.first;
}

void into_cell(Json& value, const Span& span) {
  for (const char* line : {"line", "endLine"}) line_into_cell(at(value, {line}), span);
  line_into_cell(at(value, {"position", "line"}), span);
  for (const char* range : {"range", "selectionRange", "selection"}) {
    line_into_cell(at(value, {range, "start", "line"}), span);
    line_into_cell(at(value, {range, "end", "line"}), span);
  }
}

// The line that says to which cell a value belongs.
std::optional<std::uint32_t> line_of(Json& value) {
  for (const Json* line : {at(value, {"position", "line"}), at(value, {"range", "start", "line"}),
                           at(value, {"selection", "start", "line"}), at(value, {"line"})}) {
    if (const auto number = line_in(line)) return number;
  }
  return std::nullopt;
}

bool lies_in(std::uint32_t line, const Span& span) {
  return (line >= span.first && line < span.end) || (line < span.first && span.first == 1);  // line 0 is no cell's
}

// Of a list about the whole script what lies in the cell.
void keep_cell(Json& list, const Span& span) {
  Json kept = Json::array();
  for (Json& each : list) {
    const auto line = line_of(each);
    if (line && !lies_in(*line, span)) continue;
    if (Json* children = at(each, {"children"})) keep_cell(*children, span);
    into_cell(each, span);
    kept.push_back(std::move(each));
  }
  list = std::move(kept);
}

Json answer_in_cell(const Notebooks& notebooks, std::string_view method, Json answer, const Span& span) {
  const bool listed = method == "textDocument/inlayHint" || method == "textDocument/codeLens" || method == "textDocument/documentSymbol";
  if (listed && answer.is_array()) keep_cell(answer, span);
  for (const char* list : {"hints", "marks"}) {
    if (Json* items = at(answer, {list})) keep_cell(*items, span);
  }
  if (answer.is_array()) {
    for (Json& each : answer) {
      Json* data = at(each, {"data"});
      if (method == "textDocument/inlayHint" && data != nullptr && data->is_array()) data->push_back(span.cell);
      if (Json* diagnostics = at(each, {"diagnostics"})) keep_cell(*diagnostics, span);
    }
  }
  if (Json* version = at(answer, {"version"})) *version = span.version;
  if (method == "textDocument/hover") into_cell(answer, span);
  return in_cells(notebooks, std::move(answer));
}

// A hint that is to be completed says in its data which cell it is of.
ForCell ask_for_hint(const Notebooks& notebooks, Json& hint) {
  Json* data = at(hint, {"data"});
  if (data == nullptr || !data->is_array() || data->size() != 3 || !data->back().is_string()) return nullptr;
  const Json all = *data;
  const auto span = notebooks.span_of(data->back().get<std::string>());
  if (!span) return nullptr;
  into_script(hint, *span);
  data->erase(2);
  return [all, span](const Outcome& outcome) -> Outcome {
    const Answer* answer = std::get_if<Answer>(&outcome);
    if (answer == nullptr || !*answer) return outcome;
    Json value = **answer;
    into_cell(value, *span);
    value["data"] = all;
    return Answer(std::move(value));
  };
}

Json changes_in_cells(const Notebooks& notebooks, const Json& changes) {
  Json all = Json::object();
  for (const auto& [uri, edits] : changes.items()) {
    for (auto& [to, list] : by_cell(notebooks, uri, edits)) all[to] = std::move(list);
  }
  return all;
}

Json document_changes_in_cells(const Notebooks& notebooks, const Json& changes) {
  Json all = Json::array();
  for (Json one : changes) {
    const Json *uri = at(one, {"textDocument", "uri"}), *edits = at(one, {"edits"});
    if (uri == nullptr || edits == nullptr || !uri->is_string() || notebooks.find(uri->get<std::string>()) == nullptr) {
      all.push_back(std::move(one));
      continue;
    }
    for (auto& [to, list] : by_cell(notebooks, uri->get<std::string>(), *edits)) {
      const auto span = notebooks.span_of(to);
      all.push_back({{"textDocument", {{"uri", to}, {"version", span ? Json(span->version) : Json()}}}, {"edits", std::move(list)}});
    }
  }
  return all;
}

}  // namespace

ForCell ask_script(const Notebooks& notebooks, std::string_view method, Json& params) {
  if (notebooks.empty() || method.starts_with(kSync)) return nullptr;
  if (method == "inlayHint/resolve") return ask_for_hint(notebooks, params);
  Json* asked = &params;
  Json* uri = at(params, {"textDocument", "uri"});
  if (method == "workspace/executeCommand") {
    Json* arguments = at(params, {"arguments"});
    if (arguments == nullptr || !arguments->is_array() || arguments->empty()) return nullptr;
    asked = &arguments->front();
    uri = at(*asked, {"uri"});
  }
  const auto span = uri != nullptr && uri->is_string() ? notebooks.span_of(uri->get<std::string>()) : std::nullopt;
  if (!span) return nullptr;
  *uri = span->notebook;
  into_script(*asked, *span);
  return [&notebooks, method = std::string(method), cell = span->cell](const Outcome& outcome) -> Outcome {
    const auto now = notebooks.span_of(cell);
    if (!now) return outcome;
    if (const auto* written = std::get_if<Written>(&outcome)) {
      return Written(protocol::dump_json(answer_in_cell(notebooks, method, Json::parse(written->json, nullptr, false), *now)));
    }
    const Answer& answer = std::get<Answer>(outcome);
    return answer ? Answer(answer_in_cell(notebooks, method, *answer, *now)) : answer;
  };
}

Json in_cells(const Notebooks& notebooks, Json value) {
  if (notebooks.empty() || !value.is_structured()) return value;
  if (Json* changes = at(value, {"changes"}); changes != nullptr && changes->is_object()) *changes = changes_in_cells(notebooks, *changes);
  if (Json* changes = at(value, {"documentChanges"}); changes != nullptr && changes->is_array()) {
    *changes = document_changes_in_cells(notebooks, *changes);
  }
  const auto line = line_of(value);
  Json* uri = at(value, {"uri"});
  const auto span = line && uri != nullptr && uri->is_string() ? notebooks.span_at(uri->get<std::string>(), *line) : std::nullopt;
  if (span) {
    *uri = span->cell;
    into_cell(value, *span);
  }
  for (Json& each : value) each = in_cells(notebooks, std::move(each));
  return value;
}

ByCell by_cell(const Notebooks& notebooks, const std::string& uri, const Json& list) {
  if (notebooks.find(uri) == nullptr || !list.is_array()) return {{uri, list}};
  ByCell all;
  for (Json each : list) {
    const auto span = notebooks.span_at(uri, line_of(each).value_or(0));
    if (!span) continue;
    into_cell(each, *span);
    const auto known = std::ranges::find(all, span->cell, &ByCell::value_type::first);
    if (known == all.end()) {
      all.emplace_back(span->cell, Json::array({std::move(each)}));
    } else {
      known->second.push_back(std::move(each));
    }
  }
  return all;
}

}  // namespace hotlens::session
