#include "server/session/lines/document_answers.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "annotator/profile/place_name.h"
#include "server/features/actions/calls.h"
#include "server/features/commands.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/describe.h"
#include "server/features/words/format.h"
#include "server/session/documents/cell_places.h"
#include "server/session/documents/convert.h"
#include "server/session/documents/hint_writer.h"
#include "server/session/documents/symbol_writer.h"
#include "server/session/timeline/places.h"

namespace hotlens::session {
namespace {

using protocol::Answer;
using protocol::Json;
using protocol::Reader;

features::Options options(const Known& known, const Document& document) {
  const auto shown = document.profile();
  return {.min_share = known.workspace.settings.hints_min_percent / 100,
          .unit = known.workspace.settings.hints_unit,
          .long_line = static_cast<std::size_t>(known.workspace.settings.hints_long_line),
          .markdown = known.can.hover_markdown,
          .images = known.can.images,
          .trusted = known.workspace.trusted,
          .running = known.running,
          .timeline = known.can.shows_timeline,
          .compares = known.can.compares,
          .predicting = known.predicting,
          .calls = known.can.calls,
          .clipboard = known.can.clipboard,
          .tooltips = true,
          .batch_sizes = shown ? known.predicted(shown->id) : nullptr,
          .costs = shown ? known.costs(shown->id) : nullptr,
          .label = known.label(document),
          .baseline = document.baseline()};
}

Places places_in(const Known& known, const Document& document) {
  return {document.text(), document.lines(), known.can.encoding};
}

// Null: not open, not ours, or out of step.
const Document* readable(const Known& known, const Reader& params) {
  const Document* document = known.workspace.documents.find(params["textDocument"]["uri"].string());
  return document != nullptr && document->in_step() ? document : nullptr;
}

features::LineRange lines_of(const Places& places, const protocol::Range& range) {
  return {places.to_source(range.start).line, places.to_source(range.end).line + 1};
}

Json command_json(const std::string& title, const std::string& command, const std::string& uri) {
  return {{"title", title}, {"command", command}, {"arguments", {{{"uri", uri}}}}};
}

Json edit_json(const Known& known, const Document& document, const features::TextEdit& edit) {
  const Json edits = {{{"range", to_json(places_in(known, document).to_client(edit.range))}, {"newText", edit.text}}};
  return workspace_edit(document.uri(), document.version(), edits, known.can.document_changes);
}

Json action_json(const Known& known, const features::Action& action, const Document& document, protocol::Position at) {
  if (action.edit) return {{"title", action.title}, {"kind", action.kind}, {"edit", edit_json(known, document, *action.edit)}};
  const std::string& uri = document.uri();
  Json command = command_json(action.title, action.command, uri);
  if (action.at_place) command["arguments"].front()["position"] = to_json(at);
  if (action.compare) command["arguments"].front()["compare"] = true;
  if (!known.can.action_literals) return command;
  Json one{{"title", action.title}, {"kind", action.kind}};
  if (action.disabled) {
    one["disabled"] = {{"reason", *action.disabled}};
  } else {
    one["command"] = std::move(command);
  }
  return one;
}

}  // namespace

std::string hints_json(const Known& known, const Document& document, const std::optional<protocol::Range>& range, HintForm form) {
  const Settings& settings = known.workspace.settings;
  if (!settings.hints_enabled || (form != HintForm::own && settings.hints_place == HintPlace::above)) return "[]";
  const Places places = places_in(known, document);
  features::Options how = options(known, document);
  how.tooltips = form != HintForm::lazy;
  HintWriter writer(document.uri(), places, how.markdown);
  const features::LineRange lines = range ? lines_of(places, *range) : features::LineRange{};
  const std::vector<features::Hint>& plain = document.hints(lines, how);
  const std::vector<EditNote>& notes = known.edited(document);
  const std::vector<features::Hint> with_notes = notes.empty() ? std::vector<features::Hint>{} : noted(plain, notes, document, lines, how);
  for (const features::Hint& hint : notes.empty() ? plain : with_notes) {
    const protocol::Position at = places.to_client(hint.at);
    if (range && (at < range->start || range->end < at)) continue;
    writer.begin(hint, at, form != HintForm::own);
    if (form == HintForm::lazy) {
      writer.origin(document.serial(), document.version());
    } else if (!hint.tooltip.empty()) {
      writer.tooltip(hint.tooltip + known.offer(document, {at.line, 0}));
    }
  }
  return std::move(writer).take();
}

std::string own_hints_json(const Known& known, const Document& document, const std::optional<protocol::Range>& range) {
  return R"({"version":)" + std::to_string(document.version()) + R"(,"hints":)" + hints_json(known, document, range, HintForm::own) + "}";
}

std::string heat_json(const Known& known, const Document& document) {
  std::string marks;
  if (known.workspace.settings.heat) {
    const Places places = places_in(known, document);
    for (const features::Heat& mark : document.heat(known.workspace.settings.hints_min_percent / 100)) {
      const std::uint32_t line = places.to_client(source::Position{mark.line, 0}).line;
      marks += fmt::format(R"({}{{"line":{},"level":{},"share":{:.4f}}})", marks.empty() ? "" : ",", line, mark.level, mark.share);
    }
  }
  return fmt::format(R"({{"version":{},"marks":[{}]}})", document.version(), marks);
}

std::string symbols_json(const Known& known, const Document& document) {
  if (!known.workspace.settings.symbols || !document.has_facts()) return "null";
  features::Options how = options(known, document);
  how.tooltips = known.can.renders_hints || !known.can.hint_lazy_tooltip;  // as for hints: what was said of lines is kept for these
  return symbols_text(features::symbols(document.view(), document.hints({}, how)), places_in(known, document));
}

// The hint comes back as it was when it is not ours or not of this version: a tooltip for other lines would be worse than none. What is no
// hint at all is refused.
Answer resolved_hint(const Known& known, const Json& params) {
  const Reader hint(params);
  const std::uint32_t line = hint["position"]["line"].unsigned32();
  std::ignore = hint["position"]["character"].unsigned32();
  if (const Reader label = hint["label"]; !label.json().is_array()) std::ignore = label.string();
  if (auto error = hint.error()) return std::unexpected(*error);
  const auto data = hint.maybe("data");
  const auto origin = data && data->json().is_array() ? data->items() : std::vector<Reader>{};
  if (origin.size() != 2) return params;
  const Document* document = known.workspace.documents.find(origin[0].integer());
  if (hint.error() || document == nullptr || !document->in_step() || document->version() != origin[1].integer()) return params;
  const Places places = places_in(known, *document);
  const std::uint32_t at = places.to_source({line, 0}).line;
  Json resolved = params;
  const features::Options how = options(known, *document);
  const features::LineRange lines{at, at + 1};
  for (const features::Hint& one :
       noted(features::inlay_hints(document->view(), lines, how), known.edited(*document), *document, lines, how)) {
    if (places.to_client(one.at).line != line) continue;
    resolved["tooltip"] = markup(one.tooltip + known.offer(*document, {line, 0}), known.can.hover_markdown);
  }
  return resolved;
}

// What is offered for the place, in one line: "" where nothing is.
std::string offered(const Known& known, const Document& document, source::Position at, protocol::Position position) {
  std::string line = known.offer(document, position);
  if (!known.can.hover_markdown || !known.can.command_links) return line;
  const Json place{{"uri", document.uri()}, {"position", to_json(position)}};
  const std::string argument = percent_escaped(protocol::dump_json(Json::array({in_cells(known.workspace.notebooks, place)})));
  const auto add = [&](std::string_view title, std::string_view command) {
    line += fmt::format("{}[{}](command:{}?{})", line.empty() ? "  \n" : " · ", title, command, argument);
  };
  if (known.can.calls && !features::layers_at(document.view(), at).empty()) add("Show calls", "hotlens.showCalls");
  const auto summary = features::summary_at(document.view(), at);
  if (known.can.clipboard && summary) add("Copy as Markdown", "hotlens.copyLine");
  if (known.can.compares && document.baseline() && summary && features::has_block(*summary))
    add("Compare with baseline", "hotlens.compareWithBaseline");
  return line;
}

Answer hover(const Known& known, const Json& params) {
  const Reader reader(params);
  const Document* document = readable(known, reader);
  const protocol::Position position = read_position(reader["position"]);
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr) return Json();
  const Places places = places_in(known, *document);
  features::Options how = options(known, *document);
  const source::Position at = places.to_source(position);
  const auto& notes = known.edited(*document);
  const auto note = std::ranges::find(notes, at.line, &EditNote::line);
  auto advice = known.advice(*document, at);
  how.findings = !advice;  // which says it already
  const std::string offer = offered(known, *document, at, position);
  const std::string evidence = known.evidence(*document, at.line);
  const std::size_t taken = (evidence.empty() ? 0 : 1) + (note != notes.end() ? 1 : 0) +
                            (advice ? features::lines_seen(advice->contents) : 0) + (offer.empty() ? 0 : 1);
  auto found = features::hover(document->view(), at, how, taken);
  if (note != notes.end()) {
    if (!found) found = features::Hover{.range = {{note->line, 0}, {note->line, at.column}}, .contents = ""};
    found->contents = noted(*note, how.markdown) + (found->contents.empty() ? "" : "\n\n" + found->contents);
  }
  if (found && !evidence.empty() && !found->contents.contains(evidence)) found->contents += (how.markdown ? "\n\n" : "\n") + evidence;
  if (advice) {
    if (found) found->contents += "\n\n" + advice->contents;
    if (!found) found = std::move(advice);
  }
  if (!found) return Json();
  return Json{{"contents", markup(found->contents + offer, known.can.hover_markdown)}, {"range", to_json(places.to_client(found->range))}};
}

Answer described(const Known& known, const Json& argument) {
  const Reader reader(argument);
  const auto uri = reader.maybe("uri"), position = reader.maybe("position");
  const Document* document = uri ? known.workspace.documents.find(uri->string()) : nullptr;
  const protocol::Position at = position ? read_position(*position) : protocol::Position{};
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr || !position || !document->in_step()) return Json{{"message", "Put the cursor on a line of an open file."}};
  const Places places = places_in(known, *document);
  features::Options how = options(known, *document);
  how.markdown = true;
  how.images = false;
  const auto found = features::hover(document->view(), places.to_source(at), how, 1);
  if (!found) return Json{{"message", "Nothing was measured on this line."}};
  const Notebooks::Notebook* notebook = known.workspace.notebooks.find(document->uri());
  const std::string place = profile::place_name(features::escape_markdown(document->path().filename().string()),
                                                {.cells = notebook != nullptr ? notebook->starts : std::vector<std::uint32_t>{}}, at.line);
  const std::string code = std::string(protocol::line_text(document->text(), document->lines(), places.to_source(at).line));
  return Json{{"markdown", place + "\n```python\n" + features::plain(code) + "\n```\n" + found->contents + "\n"}};
}

// What is kept for the runs of a script, for those who may change it.
void add_kept(features::Options& how, const runs::Offers& offers) {
  const runs::Configuration* used = offers.used();
  if (used != nullptr && !used->of_vscode) how.arguments = used->arguments;
  if (offers.all.size() > 1 || (used != nullptr && used->of_vscode)) how.configuration = used != nullptr ? used->label() : "";
}

// Hints that stand above their lines. What they say more of is in the hover; a click shows the timeline, where the client has one.
void add_hints_above(const Known& known, const Document& document, features::Options how, Json& lenses) {
  const Settings& settings = known.workspace.settings;
  if (!settings.hints_enabled || settings.hints_place != HintPlace::above || known.can.renders_hints) return;
  how.tooltips = false;
  const Places places = places_in(known, document);
  const std::vector<features::Hint>& plain = document.hints({}, how);
  const std::vector<EditNote>& notes = known.edited(document);
  const std::string command = how.timeline ? features::kTimelineCommand : "";
  for (const features::Hint& hint : notes.empty() ? plain : noted(plain, notes, document, {}, how)) {
    const Json at = to_json(places.to_client(source::Position{hint.at.line, 0}));
    const Json argument{{"uri", document.uri()}, {"position", at}};
    lenses.push_back(
        {{"range", {{"start", at}, {"end", at}}}, {"command", {{"title", hint.label}, {"command", command}, {"arguments", {argument}}}}});
  }
}

Answer code_lenses(const Known& known, const Json& params) {
  const Reader reader(params);
  const Document* document = readable(known, reader);
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr) return Json();
  const Places places = places_in(known, *document);
  Json list = Json::array();
  features::Options how = options(known, *document);
  add_hints_above(known, *document, how, list);  // first: the others of a line are long
  add_kept(how, known.configured(document->path()));
  std::vector<features::Lens> lenses = features::code_lenses(document->view(), how);
  if (auto checkpoints = known.checkpoints(*document)) lenses.push_back(std::move(*checkpoints));
  for (const features::Lens& lens : lenses) {
    const protocol::Position at = places.to_client(source::Position{lens.line, 0});
    list.push_back({{"range", to_json(protocol::Range{at, at})}, {"command", command_json(lens.title, lens.command, document->uri())}});
  }
  return list;
}

// A run that also records other values of a number that somebody has edited and whose cost nobody knows.
void add_varied(const Known& known, const Document& document, features::LineRange lines, const Reader& reader, const features::Options& how,
                Json& list) {
  constexpr const char* kKind = "hotlens.profile";
  if (!how.trusted || how.running || !wants_kind(reader, kKind)) return;
  for (const EditNote& note : known.edited(document)) {
    if (note.number.empty() || note.line < lines.begin || note.line >= lines.end) continue;
    const features::Action action{
        .title = "Profile with other values of " + note.number, .kind = kKind, .command = features::kProfileCommand, .disabled = {}};
    Json one = action_json(known, action, document, {});
    (one.contains("kind") ? one["command"] : one)["arguments"].front()["vary"] = Json::array({note.number});
    list.push_back(std::move(one));
  }
}

Answer code_actions(const Known& known, const Json& params) {
  const Reader reader(params);
  const Document* document = readable(known, reader);
  const protocol::Range range = read_range(reader["range"]);
  std::ignore = wants_kind(reader, "");  // reads the list, so that a wrong one is an error also where nothing is offered
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr) return Json();
  const Places places = places_in(known, *document);
  Json list = Json::array();
  features::Options how = options(known, *document);
  add_kept(how, known.configured(document->path()));
  for (const features::Action& action : features::code_actions(document->view(), lines_of(places, range), how)) {
    if (!wants_kind(reader, action.kind) || (action.disabled && !known.can.action_disabled)) continue;
    if (action.edit && !known.can.action_literals) continue;
    list.push_back(action_json(known, action, *document, range.start));
  }
  add_varied(known, *document, lines_of(places, range), reader, how, list);
  return list;
}

}  // namespace hotlens::session
