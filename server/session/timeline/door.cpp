#include "server/session/timeline/door.h"

#include <algorithm>
#include <utility>

#include "annotator/common/file.h"
#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"
#include "server/runs/progress.h"
#include "server/session/documents/convert.h"
#include "server/session/timeline/checkpoints.h"
#include "server/session/timeline/places.h"
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

protocol::Answer refusal(Code code, std::string why) {
  return std::unexpected(RpcError{code, std::move(why)});
}

// A trace names files from a folder of sys.path on: such a file is looked for below the folders of the workspace, and nowhere else.
fs::path found_in(const std::vector<fs::path>& folders, const fs::path& file) {
  if (file.is_absolute()) return file;
  for (const fs::path& folder : folders) {
    if (is_file_inside(folder / file, folder)) return folder / file;
  }
  return file;
}

// Of a place in a cell the line of the script that was executed.
std::uint32_t executed_line(const Document& document, const runs::Frame& place) {
  const features::FileFacts* facts = document.facts();
  if (facts == nullptr || place.cell == 0) return place.line;
  const std::vector<std::uint32_t>& starts = facts->profile->files.at(facts->file.index).cells;
  return place.cell <= starts.size() ? starts[place.cell - 1] + place.line : place.line;
}

}  // namespace

TimelineDoor::TimelineDoor(Loop& loop, Client& client, Workspace& workspace, Knowledge knowledge)
    : loop_(loop),
      client_(client),
      workspace_(workspace),
      knowledge_(std::move(knowledge)),
      library_(std::make_shared<timeline_requests::Library>(timeline_requests::Library::Sources{
          .list = [from = sources_] { return from->list(); },
          .finish = [from = sources_](std::shared_ptr<const profile::Profile> profile) { return from->with_lines(std::move(profile)); }})) {
}

std::vector<std::string> TimelineDoor::methods() {
  std::vector<std::string> list = timeline_requests::methods();
  list.emplace_back(message::kTimelineReveal);
  list.emplace_back(message::kTimelinePoint);
  list.emplace_back(message::kTimelinePredict);
  list.emplace_back(message::kTimelineSetBatchSize);
  list.emplace_back(message::kTimelinePlanCheckpoints);
  list.emplace_back(message::kTimelineSetCheckpoints);
  return list;
}

void TimelineDoor::use() {
  if (!std::exchange(used_, true)) sources_->set(knowledge_.sources());
}

void TimelineDoor::profiles_changed() {
  if (!used_) return;
  sources_->set(knowledge_.sources());
  const std::string current = knowledge_.current();
  tell(message::kTimelineChanged, current.empty() ? Json::object() : Json{{"current", current}});
}

void TimelineDoor::batch_sizes_changed() {
  if (used_) tell(message::kTimelineBatchSizesChanged, Json::object());
}

void TimelineDoor::what_ifs_changed() {
  if (used_) tell(message::kTimelineWhatIfsChanged, Json::object());
}

void TimelineDoor::tell(std::string_view method, const Json& params) {
  if (client_.can.own_messages) client_.notify(method, params);
  if (web_) web_->notify(method, params);
}

// Over the editor's own connection.
void TimelineDoor::request(std::string_view method, const Json& params, protocol::Reply reply) {
  if (method == message::kTimelinePredict) return begin(knowledge_.predict, params, std::move(reply));
  if (method == message::kTimelinePlanCheckpoints) return begin(knowledge_.plan, params, std::move(reply));
  if (method == message::kTimelineBatchSizes)
    return ask(method, params, with_predictions(std::move(reply), client_, knowledge_.predictions, true));
  if (method == message::kTimelineWhatIfs) reply = with_plan(std::move(reply), knowledge_.plan_state);
  ask(method, params, std::move(reply));
}

void TimelineDoor::ask(std::string_view method, const Json& params, protocol::Reply reply) {
  use();
  forget_ = loop_.after(kForgetAfter, [library = library_] { library->drop_all(); });
  if (method == message::kTimelineSetBatchSize) return set_batch_size(loop_, client_, workspace_, params, std::move(reply));
  if (method == message::kTimelineSetCheckpoints) return set_checkpoints(loop_, client_, workspace_, library_, params, std::move(reply));
  if (method == message::kTimelineWhatIfs) reply = with_edits(std::move(reply), client_, workspace_);
  if (method == message::kTimelineReveal) return reveal(params, std::move(reply));
  if (method == message::kTimelinePoint) return point(params, std::move(reply));
  asked_.push_back({std::string(method), params, std::move(reply)});
  if (asked_.size() == 1) answer_next();
}

// One after the other: requests that wait for the same profile to be read would take the whole pool from everything else.
void TimelineDoor::answer_next() {
  auto find = [library = library_, method = asked_.front().method, params = asked_.front().params] {
    return timeline_requests::answer(*library, method, params);
  };
  loop_.work(std::move(find), [this](Result<protocol::Answer> answer) { answered(std::move(answer)); });
}

void TimelineDoor::answered(Result<protocol::Answer> answer) {
  protocol::Reply reply = std::move(asked_.front().reply);
  asked_.pop_front();
  reply(answer ? std::move(*answer) : refusal(Code::internal_error, answer.error().message));
  if (!asked_.empty()) answer_next();
}

void TimelineDoor::begin(const std::function<void(const std::string&, protocol::Reply)>& work, const Json& params, protocol::Reply reply) {
  const Reader reader(params);
  const auto named = reader.maybe("profile");
  const std::string profile = named ? named->string() : knowledge_.current();
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  work(profile, std::move(reply));
}

void TimelineDoor::reveal(const Json& params, protocol::Reply reply) {
  const Reader reader(params);
  const runs::Frame named = runs::frame_of(reader["file"].string(), reader["line"].unsigned32());
  const auto column = reader.maybe("column");
  const std::uint32_t first = column ? column->unsigned32() : 0;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const fs::path file = found_in(workspace_.folders, named.file);
  if (!client_.can.show_document || !file.is_absolute()) return reply(Json{{"shown", false}});
  const Document* open = workspace_.documents.at(file);
  const bool placed = open != nullptr && open->in_step();
  const std::uint32_t line = open != nullptr ? executed_line(*open, named) : named.line;
  const protocol::Position at{placed ? features::line_now(open->view(), line).value_or(line) : line, first};
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
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
void TimelineDoor::point(const Json& params, protocol::Reply reply) {
  const Reader reader(params);
  Json lines = Json::array();
  for (const Reader& each : reader["lines"].items()) {
    const std::string file = each["file"].string();
    const std::uint32_t first = each["line"].unsigned32(), last = std::max(first, each["endLine"].unsigned32());
    const Document* document = workspace_.documents.at(file);
    if (document == nullptr || !document->in_step() || lines.size() >= kMostLit) continue;
    const auto now = features::line_now(document->view(), first);
    if (now) lines.push_back({{"uri", document->uri()}, {"line", *now}, {"endLine", *now + (last - first)}});
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  light(std::move(lines));
  reply(Json{{"shown", client_.can.own_messages}});
}

void TimelineDoor::light(Json lines) {
  const bool highlights = !lines.empty();
  if (!client_.can.own_messages || (!highlights && !highlighted_)) return;
  highlighted_ = highlights;
  client_.notify(message::kTimelineHighlight, Json{{"lines", std::move(lines)}});
}

std::optional<RpcError> TimelineDoor::cursor(const Json& params) {
  if (!used_) return std::nullopt;
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const protocol::Position at = read_position(reader["position"]);
  if (auto error = reader.error()) return error;
  const Document* document = workspace_.documents.find(uri);
  if (document == nullptr || !document->in_step()) return std::nullopt;
  const auto target = target_at(document->view(), place_in(*document, at));
  if (!target) return std::nullopt;
  auto find = [library = library_, target = *target] { return found_place(*library, target); };
  loop_.work(std::move(find), [this](const Result<Json>& place) {
    if (place && !place->is_null()) tell(message::kTimelineSelect, *place);
  });
  return std::nullopt;
}

source::Position TimelineDoor::place_in(const Document& document, protocol::Position at) const {
  return Places(document.text(), document.lines(), client_.can.encoding).to_source(at);
}

std::string TimelineDoor::offer(const Document& document, protocol::Position at) const {
  const ClientCapabilities& can = client_.can;
  const bool markdown = can.hover_markdown, links = markdown && can.command_links;
  if (!can.shows_timeline || (!links && can.timeline_words.empty())) return "";
  if (!target_at(document.view(), place_in(document, at))) return "";
  if (!markdown) return "\nShow in timeline: " + features::plain(can.timeline_words);
  if (!links) return "  \nShow in timeline: " + features::escape_markdown(can.timeline_words);
  const Json asked = Json::array({in_cells(workspace_.notebooks, {{"uri", document.uri()}, {"position", to_json(at)}})});
  return "  \n[Show in timeline](command:hotlens.showTimeline?" + percent_escaped(protocol::dump_json(asked)) + ")";
}

void TimelineDoor::from_page(protocol::Request asked, protocol::Reply reply) {
  if (!open_) return;  // the reply says so itself
  const std::vector<std::string> known = methods();
  if (asked.method == message::kTimelinePredict) return reply(Json{{"started", false}, {"message", kPredictInEditor}});
  if (asked.method == message::kTimelinePlanCheckpoints) return reply(Json{{"started", false}, {"message", kPlanInEditor}});
  if (asked.method == message::kTimelineBatchSizes) reply = with_predictions(std::move(reply), client_, knowledge_.predictions, false);
  if (std::ranges::find(known, asked.method) != known.end()) return ask(asked.method, asked.params, std::move(reply));
  reply(refusal(Code::method_not_found, "no such method: " + asked.method));
}

Result<void> TimelineDoor::start_web() {
  if (web_) return {};
  const auto handle = [this](protocol::Request asked, protocol::Reply reply) {
    loop_.post([this, asked = std::move(asked), reply = std::move(reply)]() mutable { from_page(std::move(asked), std::move(reply)); });
  };
  const auto first = [library = library_] { return timeline_requests::first_answers(*library); };
  // A page that goes leaves no light behind.
  const auto pages_changed = [this](std::size_t) { loop_.post([this] { light(Json::array()); }); };
  auto server =
      web::Server::start({.port = 0, .pages = web::find_pages()}, {.handle = handle, .connections = pages_changed, .first = first});
  if (!server) return std::unexpected(server.error());
  web_ = std::move(*server);
  return {};
}

void TimelineDoor::open(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  Json place = Json::object();
  if (const auto id = reader.maybe("profile")) place["profile"] = id->string();
  if (const auto path = reader.maybe("path")) {
    place["path"] = Json::array();
    for (const Reader& segment : path->items()) place["path"].push_back(segment.string());
  }
  const auto browser = reader.maybe("browser"), compared = reader.maybe("compare");
  const bool in_browser = browser && browser->boolean();
  const auto uri = reader.maybe("uri");
  const fs::path file = uri ? protocol::path_of_uri(uri->string()).value_or(fs::path()) : fs::path();
  const std::string before = compared && compared->boolean() ? knowledge_.baseline(file) : "";
  if (compared && compared->boolean() && before.empty() && !reader.error()) {
    return reply(refusal(Code::request_failed, "There is no baseline. Set one first: it is what the profile is compared with."));
  }
  std::optional<TimelineTarget> target;
  if (uri) {
    const Document* document = workspace_.documents.find(uri->string());
    const auto position = reader.maybe("position");
    if (document != nullptr && document->in_step()) {
      if (position) target = target_at(document->view(), place_in(*document, read_position(*position)));
      const auto& shown = document->view().profile;
      if (shown && !place.contains("profile")) place["profile"] = shown->id;
    }
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (in_browser) {
    if (const Result<void> started = start_web(); !started) return reply(refusal(Code::request_failed, started.error().message));
  }
  use();
  auto find = [library = library_, target, before, place = std::move(place)]() mutable {
    if (target && !place.contains("path")) {
      if (Json found = found_place(*library, *target); found.is_object()) place = std::move(found);
    }
    if (!place.contains("profile")) place["profile"] = library->current();
    if (!before.empty() && place["profile"] != before) place["before"] = before;
    return std::move(place);
  };
  loop_.work(std::move(find), [this, in_browser, reply = std::move(reply)](Result<Json> found) mutable {
    if (!found) return reply(refusal(Code::internal_error, found.error().message));
    opened(std::move(*found), in_browser, reply);
  });
}

void TimelineDoor::opened(Json place, bool in_browser, protocol::Reply& reply) {
  if (place["profile"] == "") return reply(refusal(Code::request_failed, "There is no profile here yet. Profile the script first."));
  if (place.contains("path") && place.contains("step")) tell(message::kTimelineSelect, place);  // pages that are open already
  if (in_browser && web_) place["url"] = web_->url_to_open() + fragment_of(place);
  reply(std::move(place));
}

}  // namespace hotlens::session
