// Requests about a document: the features' results in the client's terms.
#include <algorithm>
#include <tuple>

#include "server/session/convert.h"
#include "server/session/hint_writer.h"
#include "server/session/session.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;

// A client that cannot be told to ask again gets its first answer when it is known, but waits no longer than this.
constexpr std::chrono::seconds kFirstHintsLimit{3};

features::LineRange lines_of(const Places& places, const protocol::Range& range) {
  return {places.to_source(range.start).line, places.to_source(range.end).line + 1};
}

// "hotlens.profile" is asked for by itself and by every prefix of it that ends at a dot.
bool wanted(const std::string& kind, const std::vector<std::string>& only) {
  return only.empty() || std::ranges::any_of(only, [&](const std::string& prefix) {
           return prefix.empty() || kind == prefix || kind.starts_with(prefix + ".");
         });
}

Json command_json(const std::string& title, const std::string& command, const std::string& uri) {
  return {{"title", title}, {"command", command}, {"arguments", {{{"uri", uri}}}}};
}

}  // namespace

features::Options Session::options() const {
  return {.min_share = settings_.hints_min_percent / 100,
          .markdown = client_.can.hover_markdown,
          .images = client_.can.images,
          .trusted = trusted_,
          .running = run_.has_value(),
          .timeline = client_.can.shows_timeline,
          .tooltips = true};
}

Document* Session::readable(const Reader& params) {
  Document* document = documents_.find(params["textDocument"]["uri"].string());
  return document != nullptr && document->in_step() ? document : nullptr;
}

std::string Session::hints_of(const Document& document, const std::optional<protocol::Range>& range, HintForm form) const {
  if (!settings_.hints_enabled) return "[]";
  const Places places(document.text(), document.lines(), client_.can.encoding);
  features::Options how = options();
  how.tooltips = form != HintForm::lazy;
  HintWriter writer(document.uri(), places, how.markdown);
  const features::LineRange lines = range ? lines_of(places, *range) : features::LineRange{};
  for (const features::Hint& hint : document.hints(lines, how)) {
    const protocol::Position at = places.to_client(hint.at);
    if (range && (at < range->start || range->end < at)) continue;
    writer.begin(hint, at, form != HintForm::own);
    if (form == HintForm::lazy) {
      writer.origin(document.serial(), document.version());
    } else if (!hint.tooltip.empty()) {
      writer.tooltip(hint.tooltip + timeline_offer(document, {at.line, 0}));
    }
  }
  return std::move(writer).take();
}

void Session::inlay_hints(const Json& params, Reply reply) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const protocol::Range range = read_range(reader["range"]);
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const HintForm form = client_.can.hint_lazy_tooltip ? HintForm::lazy : HintForm::eager;
  when_hints_known(
      uri, [this, range, form](Document* document) { return document != nullptr ? hints_of(*document, range, form) : "null"; },
      std::move(reply));
}

void Session::own_hints(const Json& params, Reply reply) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const auto wanted_range = reader.maybe("range");
  const std::optional<protocol::Range> range = wanted_range ? std::optional(read_range(*wanted_range)) : std::nullopt;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const auto make = [this, range](Document* document) -> std::string {
    if (document == nullptr) return "null";
    return R"({"version":)" + std::to_string(document->version()) + R"(,"hints":)" + hints_of(*document, range, HintForm::own) + "}";
  };
  when_hints_known(uri, make, std::move(reply));
}

// The document's first binding is still under way, and the client has no way to learn of a better answer.
bool Session::waits_for_first_hints(const Document& document) const {
  const bool told_later = client_.can.hint_refresh || client_.can.own_messages;
  return !told_later && profiles_started_ && (!document.bound() || !store_.known() || binding_ > 0) && document.profile() == nullptr;
}

void Session::when_hints_known(const std::string& uri, std::function<std::string(Document*)> make, Reply reply) {
  Document* document = documents_.find(uri);
  if (document != nullptr && !document->in_step()) document = nullptr;
  if (document == nullptr || !waits_for_first_hints(*document)) return reply(protocol::Written(make(document)));
  const std::int64_t key = next_waiting_++;
  Loop::Timer limit = loop_.after(kFirstHintsLimit, [this, key] {
    if (auto late = waiting_.extract(key)) late.mapped().reply(protocol::Written(late.mapped().make(documents_.find(late.mapped().uri))));
  });
  waiting_ids_[current_request_] = key;
  waiting_.emplace(key, Waiting{uri, std::move(make), std::move(reply), std::move(limit)});
}

void Session::answer_waiting() {
  for (auto& [key, one] : std::exchange(waiting_, {})) {
    Document* document = documents_.find(one.uri);
    if (document != nullptr && document->in_step() && waits_for_first_hints(*document)) {
      waiting_.emplace(key, std::move(one));
    } else {
      one.reply(protocol::Written(one.make(document != nullptr && document->in_step() ? document : nullptr)));
    }
  }
  std::erase_if(waiting_ids_, [&](const auto& entry) { return !waiting_.contains(entry.second); });
}

// The hint comes back as it was when it is not ours or not of this version: a tooltip for other lines would be worse than none. What is no
// hint at all is refused.
Session::Answer Session::resolve_hint(const Json& params) {
  const Reader hint(params);
  const std::uint32_t line = hint["position"]["line"].unsigned32();
  std::ignore = hint["position"]["character"].unsigned32();
  if (const Reader label = hint["label"]; !label.json().is_array()) std::ignore = label.string();
  if (auto error = hint.error()) return std::unexpected(*error);
  const auto data = hint.maybe("data");
  const auto origin = data && data->json().is_array() ? data->items() : std::vector<Reader>{};
  if (origin.size() != 2) return params;
  const Document* document = documents_.find(origin[0].integer());
  if (hint.error() || document == nullptr || !document->in_step() || document->version() != origin[1].integer()) return params;
  const Places places(document->text(), document->lines(), client_.can.encoding);
  const std::uint32_t at = places.to_source({line, 0}).line;
  Json resolved = params;
  for (const features::Hint& one : features::inlay_hints(document->view(), {at, at + 1}, options())) {
    if (places.to_client(one.at).line == line)
      resolved["tooltip"] = markup(one.tooltip + timeline_offer(*document, {line, 0}), client_.can.hover_markdown);
  }
  return resolved;
}

Session::Answer Session::hover(const Json& params) {
  const Reader reader(params);
  const Document* document = readable(reader);
  const protocol::Position position = read_position(reader["position"]);
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr) return Json();
  const Places places(document->text(), document->lines(), client_.can.encoding);
  const auto found = features::hover(document->view(), places.to_source(position), options());
  if (!found) return Json();
  const std::string contents = found->contents + timeline_offer(*document, position);
  return Json{{"contents", markup(contents, client_.can.hover_markdown)}, {"range", to_json(places.to_client(found->range))}};
}

Session::Answer Session::code_lenses(const Json& params) {
  const Reader reader(params);
  const Document* document = readable(reader);
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr) return Json();
  const Places places(document->text(), document->lines(), client_.can.encoding);
  Json list = Json::array();
  for (const features::Lens& lens : features::code_lenses(document->view(), options())) {
    const protocol::Position at = places.to_client(source::Position{lens.line, 0});
    list.push_back({{"range", to_json(protocol::Range{at, at})}, {"command", command_json(lens.title, lens.command, document->uri())}});
  }
  return list;
}

Session::Answer Session::code_actions(const Json& params) {
  const Reader reader(params);
  const Document* document = readable(reader);
  const protocol::Range range = read_range(reader["range"]);
  std::vector<std::string> only;
  if (const auto kinds = reader["context"].maybe("only")) {
    for (const Reader& kind : kinds->items()) only.push_back(kind.string());
  }
  if (auto error = reader.error()) return std::unexpected(*error);
  if (document == nullptr) return Json();
  const Places places(document->text(), document->lines(), client_.can.encoding);
  Json list = Json::array();
  for (const features::Action& action : features::code_actions(document->view(), lines_of(places, range), options())) {
    if (!wanted(action.kind, only) || (action.disabled && !client_.can.action_disabled)) continue;
    Json command = command_json(action.title, action.command, document->uri());
    if (!client_.can.action_literals) {
      list.push_back(std::move(command));
      continue;
    }
    Json one{{"title", action.title}, {"kind", action.kind}, {"command", std::move(command)}};
    if (action.disabled) {
      one["disabled"] = {{"reason", *action.disabled}};
      one.erase("command");
    }
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace hotlens::session
