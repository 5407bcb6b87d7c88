// The timeline: its requests, over this connection or from a page in a browser, and the way from a line to its block and back.
#include <algorithm>

#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/features/file_facts.h"
#include "server/features/format.h"
#include "server/features/line_summary.h"
#include "server/features/timeline_facts.h"
#include "server/runs/packages.h"
#include "server/session/convert.h"
#include "server/session/session.h"
#include "server/timeline/answers.h"
#include "server/web/pages.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
namespace message = protocol::message;
using protocol::Code;
using protocol::Json;
using protocol::Reader;
using protocol::RpcError;

// After this long without a request the traces that the timeline needs are dropped; the next request reads them again.
constexpr std::chrono::minutes kForgetAfter{10};
constexpr std::size_t kMostLit = 100;  // lines' ranges; more light nothing in particular

// What a place in the code stands for: its first module, else its stage.
struct Target {
  std::string profile;  // its id
  std::string module;   // path; of a module
  std::optional<profile::Stage> stage;
};

std::optional<Target> target_at(const Document& document, source::Position at) {
  const features::FileView& view = document.view();
  const std::optional<features::LineSummary> summary = features::summary_at(view, at);
  if (!summary || (summary->modules.empty() && summary->stages.empty())) return std::nullopt;
  Target target{.profile = view.profile->id};
  if (!summary->modules.empty()) {
    target.module = view.profile->at(summary->modules.front()).path;
  } else {
    target.stage = summary->stages.front().stage;
  }
  return target;
}

// {profile, step, path} of the target's first block in the representative step; null where the step has none.
Json found_place(timeline_requests::Library& library, const Target& target) {
  const auto opened = library.open(target.profile);
  if (!opened) return nullptr;
  const std::size_t step = (*opened)->profile().representative;
  const auto blocks = (*opened)->blocks(step);
  const auto block = target.stage ? features::first_of_stage(*blocks, *target.stage) : features::first_of_module(*blocks, target.module);
  if (!block) return nullptr;
  return {{"profile", (*opened)->id()}, {"step", step}, {"path", blocks::path_of(*blocks, *block)}};
}

protocol::Answer refusal(const Error& error) {
  return std::unexpected(RpcError{Code::internal_error, error.message});
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      result += c;
    } else {
      result += '%';
      result += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      result += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
    }
  }
  return result;
}

// The state that TIMELINE.md puts behind the address.
std::string fragment(const Json& place) {
  std::string text = "#profile=" + escaped(place.value("profile", std::string()));
  if (place.contains("step")) text += "&step=" + std::to_string(place["step"].get<std::size_t>());
  std::string path;  // segments are escaped once more, since a name may hold the separator
  for (const Json& segment : place.value("path", Json::array())) path += (path.empty() ? "" : "/") + escaped(segment.get<std::string>());
  if (!path.empty()) text += "&path=" + escaped(path);
  return text;
}

}  // namespace

void Session::update_timeline() {
  TimelineSources::Known known{.folders = folders_, .roots = folders_, .python = settings_.python};
  known.folders.insert(known.folders.end(), run_folders_.begin(), run_folders_.end());
  for (const auto& [uri, document] : documents_) {
    for (fs::path& folder : runs::import_folders(document.path())) known.roots.push_back(std::move(folder));
    known.folders.push_back(document.path().parent_path());
  }
  for (const ProfileStore::Shared& shown : store_.candidates({})) {
    known.shown.push_back(shown->folder.empty() ? fs::path(shown->source) : shown->folder);
  }
  timeline_.sources->set(std::move(known));
}

void Session::timeline_changed() {
  if (!timeline_.used) return;
  update_timeline();
  Json params = Json::object();
  const auto shown = store_.candidates({});
  if (!shown.empty()) params["current"] = shown.front()->id;
  tell_timeline(message::kTimelineChanged, params);
}

void Session::tell_timeline(std::string_view method, const Json& params) {
  if (client_.can.own_messages) client_.notify(method, params);
  if (timeline_.web) timeline_.web->notify(method, params);
}

bool Session::answers_timeline(std::string_view method) {
  return method == message::kTimelineReveal || method == message::kTimelinePoint || timeline_requests::answers(method);
}

void Session::timeline(std::string_view method, const Json& params, Reply reply) {
  if (!std::exchange(timeline_.used, true)) update_timeline();
  timeline_timer_ = loop_.after(kForgetAfter, [library = timeline_.library] { library->drop_all(); });
  if (method == message::kTimelineReveal) return reveal(params, std::move(reply));
  if (method == message::kTimelinePoint) return point(params, std::move(reply));
  timeline_.asked.push_back({std::string(method), params, std::make_shared<Reply>(std::move(reply))});
  if (timeline_.asked.size() == 1) answer_timeline();
}

// One after the other: requests that wait for the same profile to be read would take the whole pool from everything else.
void Session::answer_timeline() {
  const Timeline::Asked& asked = timeline_.asked.front();
  auto find = [library = timeline_.library, method = asked.method, params = asked.params] {
    return timeline_requests::answer(*library, method, params);
  };
  loop_.work(std::move(find), [this](Result<protocol::Answer> answer) {
    auto reply = std::exchange(timeline_.asked.front().reply, nullptr);
    timeline_.asked.pop_front();
    (*reply)(answer ? std::move(*answer) : refusal(answer.error()));
    if (!timeline_.asked.empty()) answer_timeline();
  });
}

void Session::reveal(const Json& params, Reply reply) {
  const Reader reader(params);
  const fs::path file = reader["file"].string();
  const std::uint32_t line = reader["line"].unsigned32();
  const auto column = reader.maybe("column");
  const std::uint32_t first = column ? column->unsigned32() : 0;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!client_.can.show_document || !file.is_absolute()) return reply(Json{{"shown", false}});
  const Document* open = documents_.at(file);
  const bool placed = open != nullptr && open->in_step();
  const protocol::Position at{placed ? features::line_now(open->view(), line).value_or(line) : line, first};
  auto held = std::make_shared<Reply>(std::move(reply));
  client_.request("window/showDocument",
                  {{"uri", open != nullptr ? open->uri() : protocol::uri_of_path(file)},
                   {"takeFocus", true},
                   {"selection", to_json(protocol::Range{at, at})}},
                  [held](const protocol::Answer& answer) {
                    const bool shown = answer && answer->is_object() && answer->value("success", false);
                    (*held)(Json{{"shown", shown}});
                  });
}

// Only in documents that are open: no other can be visible.
void Session::point(const Json& params, Reply reply) {
  const Reader reader(params);
  Json lines = Json::array();
  for (const Reader& each : reader["lines"].items()) {
    const std::string file = each["file"].string();
    const std::uint32_t first = each["line"].unsigned32(), last = std::max(first, each["endLine"].unsigned32());
    const Document* document = documents_.at(file);
    if (document == nullptr || !document->in_step() || lines.size() >= kMostLit) continue;
    const auto now = features::line_now(document->view(), first);
    if (now) lines.push_back({{"uri", document->uri()}, {"line", *now}, {"endLine", *now + (last - first)}});
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  light(std::move(lines));
  reply(Json{{"shown", client_.can.own_messages}});
}

void Session::light(Json lines) {
  const bool lights = !lines.empty();
  if (!client_.can.own_messages || (!lights && !timeline_.lit)) return;
  timeline_.lit = lights;
  client_.notify(message::kTimelineHighlight, Json{{"lines", std::move(lines)}});
}

void Session::timeline_cursor(const Json& params) {
  if (!timeline_.used) return;
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const protocol::Position at = read_position(reader["position"]);
  if (auto error = reader.error()) return reject_params(message::kTimelineCursor, *error);
  const Document* document = documents_.find(uri);
  if (document == nullptr || !document->in_step()) return;
  const auto target = target_at(*document, place_in(*document, at));
  if (!target) return;
  auto find = [library = timeline_.library, target = *target] { return found_place(*library, target); };
  loop_.work(std::move(find), [this](const Result<Json>& place) {
    if (place && !place->is_null()) tell_timeline(message::kTimelineSelect, *place);
  });
}

source::Position Session::place_in(const Document& document, protocol::Position at) const {
  return Places(document.text(), document.lines(), client_.can.encoding).to_source(at);
}

std::string Session::timeline_offer(const Document& document, protocol::Position at) const {
  const ClientCapabilities& can = client_.can;
  const bool markdown = can.hover_markdown, links = markdown && can.command_links;
  if (!can.shows_timeline || (!links && can.timeline_words.empty())) return "";
  if (!target_at(document, place_in(document, at))) return "";
  if (!markdown) return "\nShow in timeline: " + features::plain(can.timeline_words);
  if (!links) return "  \nShow in timeline: " + features::escape_markdown(can.timeline_words);
  const Json asked = Json::array({{{"uri", document.uri()}, {"position", to_json(at)}}});
  return "  \n[Show in timeline](command:hotlens.showTimeline?" + escaped(protocol::dump_json(asked)) + ")";
}

bool Session::start_web(std::string& refused) {
  if (timeline_.web) return true;
  const auto handle = [this](protocol::Request request, Reply reply) {
    auto held = std::make_shared<Reply>(std::move(reply));
    loop_.post([this, held, request = std::move(request)] {
      if (life_ != Life::running) return;  // the reply says so itself
      if (answers_timeline(request.method)) return timeline(request.method, request.params, std::move(*held));
      (*held)(std::unexpected(RpcError{Code::method_not_found, "no such method: " + request.method}));
    });
  };
  const auto first = [library = timeline_.library] { return timeline_requests::first_answers(*library); };
  // A page that goes leaves no light behind.
  const auto pages_changed = [this](std::size_t) { loop_.post([this] { light(Json::array()); }); };
  auto server =
      web::Server::start({.port = 0, .pages = web::find_pages()}, {.handle = handle, .connections = pages_changed, .first = first});
  if (!server) {
    refused = server.error().message;
    return false;
  }
  timeline_.web = std::move(*server);
  return true;
}

void Session::open_timeline(const Json& argument, Reply reply) {
  const Reader reader(argument);
  Json place = Json::object();
  if (const auto id = reader.maybe("profile")) place["profile"] = id->string();
  if (const auto path = reader.maybe("path")) {
    place["path"] = Json::array();
    for (const Reader& segment : path->items()) place["path"].push_back(segment.string());
  }
  const auto browser = reader.maybe("browser");
  const bool in_browser = browser && browser->boolean();
  std::optional<Target> target;
  if (const auto uri = reader.maybe("uri")) {
    const Document* document = documents_.find(uri->string());
    const auto position = reader.maybe("position");
    if (document != nullptr && document->in_step()) {
      if (position) target = target_at(*document, place_in(*document, read_position(*position)));
      const auto& shown = document->view().profile;
      if (shown && !place.contains("profile")) place["profile"] = shown->id;
    }
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  std::string refused;
  if (in_browser && !start_web(refused)) return reply(std::unexpected(RpcError{Code::request_failed, refused}));
  if (!std::exchange(timeline_.used, true)) update_timeline();
  auto held = std::make_shared<Reply>(std::move(reply));
  auto find = [library = timeline_.library, target, place = std::move(place)]() mutable {
    if (target && !place.contains("path")) {
      if (Json found = found_place(*library, *target); found.is_object()) place = std::move(found);
    }
    if (!place.contains("profile")) place["profile"] = library->current();
    return std::move(place);
  };
  loop_.work(std::move(find), [this, held, in_browser](Result<Json> found) {
    if (!found) return (*held)(refusal(found.error()));
    timeline_opened(std::move(*found), in_browser, *held);
  });
}

void Session::timeline_opened(Json place, bool in_browser, Reply& reply) {
  if (place["profile"] == "") {
    return reply(std::unexpected(RpcError{Code::request_failed, "There is no profile here yet. Profile the script first."}));
  }
  if (place.contains("path") && place.contains("step")) tell_timeline(message::kTimelineSelect, place);  // pages that are open already
  if (in_browser && timeline_.web) place["url"] = timeline_.web->url_to_open() + fragment(place);
  reply(std::move(place));
}

}  // namespace hotlens::session
