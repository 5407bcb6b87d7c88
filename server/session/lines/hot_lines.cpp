#include "server/session/lines/hot_lines.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "annotator/profile/loop.h"
#include "annotator/profile/place_name.h"
#include "protocol/messages.h"
#include "protocol/reader.h"
#include "protocol/uri.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;

// A list that somebody reads from its top.
constexpr std::int64_t kMostLines = 200, kUsualLines = 50;

constexpr const char* kShowLine = "line";
constexpr const char* kShowList = "lines";

}  // namespace

void HotLines::find(const fs::path& file, std::function<void(Found)> found) {
  const ProfileStore::Shared profile = shown_(file);
  if (!profile) return found({});
  HotSearch task{.profile = profile,
                 .readable = workspace_.trusted ? features::Folders() : features::Folders(workspace_.folders),
                 .options = {.min_share = workspace_.settings.hints_min_percent / 100, .tooltips = false}};
  for (const auto& [uri, document] : workspace_.documents) {
    if (document.in_step() && document.has_facts() && document.profile() == profile) task.open.emplace(document.path(), document.view());
  }
  loop_.work([task = std::move(task)] { return task.lines(); },
             [profile, found = std::move(found)](Result<std::vector<HotPlace>> lines) {
               found({profile, lines ? std::move(*lines) : std::vector<HotPlace>{}});
             });
}

std::string HotLines::uri_of(const HotPlace& line) {
  const Document* document = workspace_.documents.at(line.file);
  return document != nullptr ? document->uri() : protocol::uri_of_path(line.file);
}

// Of a notebook that is open by cell and line.
std::string HotLines::place_of(const HotPlace& line) {
  const std::string name = line.file.filename().string();
  const Document* document = workspace_.documents.at(line.file);
  const Notebooks::Notebook* notebook = document != nullptr ? workspace_.notebooks.find(document->uri()) : nullptr;
  return profile::place_name(name, {.cells = notebook != nullptr ? notebook->starts : std::vector<std::uint32_t>{}}, line.line.line);
}

Json HotLines::json_of(const HotPlace& line) {
  return {{"uri", uri_of(line)},           {"position", to_json(protocol::Position{line.line.line, line.line.column})},
          {"text", line.line.text},        {"label", line.line.label},
          {"ns", line.line.value.count()}, {"share", line.line.share}};
}

void HotLines::list(const Json& params, Reply reply) {
  const Reader reader(params);
  fs::path file;
  if (const auto document = reader.maybe("textDocument")) file = protocol::path_of_uri((*document)["uri"].string()).value_or(fs::path());
  const auto limit = reader.maybe("limit");
  const std::int64_t most = limit ? std::clamp<std::int64_t>(limit->integer(), 0, kMostLines) : kUsualLines;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  auto held = std::make_shared<Reply>(std::move(reply));
  find(file, [this, most, held](const Found& found) {
    Json answer{{"lines", Json::array()}, {"total", found.lines.size()}};
    if (found.profile) answer["profile"] = found.profile->id;
    for (const HotPlace& line : found.lines) {
      if (std::ssize(answer["lines"]) < most) answer["lines"].push_back(json_of(line));
    }
    (*held)(std::move(answer));
  });
}

// From a line of the list to the next in its order, from elsewhere to the first; round at the ends.
void HotLines::go(const Json& argument, Reply reply) {
  const Reader reader(argument);
  fs::path file;
  if (const auto uri = reader.maybe("uri")) file = protocol::path_of_uri(uri->string()).value_or(fs::path());
  const auto position = reader.maybe("position");
  const std::optional<std::uint32_t> here = position ? std::optional(read_position(*position).line) : std::nullopt;
  const auto back = reader.maybe("back");
  const bool backwards = back && back->boolean();
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  auto held = std::make_shared<Reply>(std::move(reply));
  find(file, [this, file, here, backwards, held](const Found& found) {
    if (found.lines.empty()) {
      const std::string message =
          found.profile ? "No line takes a share of the step that is shown." : "There is no profile yet. Profile the script first.";
      client_.show(MessageType::info, message);
      return (*held)(Json{{"shown", false}, {"message", message}});
    }
    const auto at = std::ranges::find_if(found.lines, [&](const HotPlace& each) { return each.file == file && here == each.line.line; });
    const auto count = std::ssize(found.lines), from = at - found.lines.begin();
    const bool known = at != found.lines.end();
    const auto next = backwards ? (known ? from - 1 + count : count - 1) % count : (known ? from + 1 : 0) % count;
    const HotPlace& line = found.lines[static_cast<std::size_t>(next)];
    show(line);
    Json answer = json_of(line);
    answer.update({{"shown", client_.can.show_document}, {"rank", next + 1}, {"total", count}});
    (*held)(std::move(answer));
  });
}

void HotLines::show(const HotPlace& line, bool focus) {
  if (!client_.can.show_document) return;
  const Json at = to_json(protocol::Position{line.line.line, line.line.column});
  client_.request("window/showDocument", {{"uri", uri_of(line)}, {"takeFocus", focus}, {"selection", {{"start", at}, {"end", at}}}});
}

// Only where the message can lead there: the end of the progress has said the rest.
void HotLines::announce(const std::string& script, const std::string& uri, bool first) {
  if (!client_.can.message_actions) return;
  find(protocol::path_of_uri(uri).value_or(fs::path()), [this, script, first](const Found& found) {
    if (found.lines.empty()) return;
    const HotPlace& hottest = found.lines.front();
    if (first) show(hottest, false);
    const std::string place = place_of(hottest);
    const std::string message =
        script + ": " + spelled(mean_update(*found.profile)) + ". Hottest line: " + place + ", " + hottest.line.label + ".";
    std::vector<Client::Choice> choices;
    if (client_.can.show_document) choices.push_back({"Show line", kShowLine});
    if (client_.can.dialogs) choices.push_back({"Hot lines", kShowList});
    client_.ask(MessageType::info, message, std::move(choices), [this, hottest](const std::string& id) {
      if (id == kShowLine) return show(hottest);
      client_.notify(protocol::message::kShowHotLines, Json::object());
    });
  });
}

}  // namespace hotlens::session
