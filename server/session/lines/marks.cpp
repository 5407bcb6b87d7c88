#include "server/session/lines/marks.h"

#include <algorithm>
#include <utility>

#include "annotator/common/file.h"
#include "protocol/messages.h"
#include "server/features/commands.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"
#include "server/features/words/step_words.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

constexpr const char* kMarksPart = "marks";
constexpr const char* kMarkFix = "quickfix";
// Another session may silence, or tell again; it costs a look at a folder entry.
constexpr std::chrono::seconds kJudgeEvery{2};

Json command_at(const char* kind, const std::string& title, std::string_view command, Json argument, const Json& diagnostic) {
  return {{"title", title},
          {"kind", kind},
          {"diagnostics", {diagnostic}},
          {"command", {{"title", title}, {"command", command}, {"arguments", {std::move(argument)}}}}};
}

}  // namespace

void Marks::start() {
  look();
  poll_ = loop_.after(kJudgeEvery, [this] { start(); });
}

void Marks::look() {
  if (looking_) return;
  std::map<fs::path, std::string> stamps;
  for (const fs::path& bundle : shown_()) {
    const fs::path list = advice::silenced_of(bundle);
    const auto known = silenced_.find(list);
    stamps.emplace(list, known == silenced_.end() ? "unknown" : known->second.stamp);
  }
  if (stamps.empty()) return;
  looking_ = true;
  auto read = [stamps = std::move(stamps)] {
    Lists changed;
    for (const auto& [list, before] : stamps) {
      std::string stamp = stamp_of(list);
      if (stamp != before) changed.emplace(list, Known{.stamp = std::move(stamp), .places = advice::read_silenced(list)});
    }
    return changed;
  };
  loop_.work(std::move(read), [this](Result<Lists> done) { seen(std::move(done)); });
}

void Marks::seen(Result<Lists> read) {
  looking_ = false;
  if (!read || read->empty()) return;
  for (auto& [list, known] : *read) silenced_.insert_or_assign(list, std::move(known));
  mark();
}

void Marks::mark() {
  for (const auto& [uri, document] : workspace_.documents) {
    Json list = Json::array();
    for (const Here& one : here(document)) list.push_back(diagnostic(document, one));
    client_.diagnose(uri, kMarksPart, std::move(list));
  }
}

void Marks::closed(const std::string& uri) {
  client_.diagnose(uri, kMarksPart, Json::array());
}

// Nothing before it is known what is silenced.
std::vector<Marks::Here> Marks::here(const Document& document) const {
  std::vector<Here> all;
  const features::FileFacts* facts = document.facts();
  if (!document.in_step() || facts == nullptr || facts->profile->folder.empty()) return all;
  const fs::path list = advice::silenced_of(facts->profile->folder);
  const auto silenced = silenced_.find(list);
  if (silenced == silenced_.end()) return all;
  for (const features::Mark& mark : facts->marks) {
    const auto range = advice::range_now(mark.at, document.text());
    advice::Silenced place{
        .kind = mark.code, .file = facts->profile->files.at(facts->file.index).path, .text = mark.at.text, .nth = mark.at.nth};
    if (!range || advice::silences(silenced->second.places, place)) continue;
    all.push_back({.mark = mark, .range = *range, .bundle = facts->profile->folder, .place = {list, std::move(place)}});
  }
  return all;
}

Json Marks::diagnostic(const Document& document, const Here& here) const {
  const Places places(document.text(), document.lines(), client_.can.encoding);
  return {{"range", to_json(places.to_client(here.range))},
          {"severity", severity::kHint},
          {"source", "hotlens"},
          {"code", here.mark.code},
          {"message", here.mark.message}};
}

std::optional<Silencing::Entry> Marks::find(const std::string& profile, const std::string& kind, std::optional<std::uint32_t> line) const {
  for (const auto& [uri, document] : workspace_.documents) {
    for (const Here& one : here(document)) {
      const bool there = one.mark.code == kind && (!line || one.mark.at.first == *line);
      if (there && one.bundle.filename().string() == profile) return one.place;
    }
  }
  return std::nullopt;
}

std::string Marks::evidence(const Document& document, std::uint32_t line) const {
  std::string text;
  for (const Here& one : here(document)) {
    if (one.range.begin.line != line) continue;
    const bool markdown = client_.can.hover_markdown;
    const std::string words = markdown ? features::escape_markdown(one.mark.message, one.mark.message.size()) : one.mark.message;
    text += (text.empty() ? "" : "\n\n") + (one.mark.limits ? features::limit_of_step(*document.facts()->profile, markdown) : words);
  }
  return text;
}

void Marks::add_actions(const Json& params, Json& list) const {
  const Reader reader(params);
  const Document* document = workspace_.documents.find(reader["textDocument"]["uri"].string());
  const protocol::Range asked = read_range(reader["range"]);
  if (reader.error() || document == nullptr || !list.is_array() || !client_.can.action_literals || !wants_kind(reader, kMarkFix)) return;
  for (const Here& one : here(*document)) {
    const protocol::Range at = Places(document->text(), document->lines(), client_.can.encoding).to_client(one.range);
    if (at.start.line >= asked.start.line && at.start.line <= asked.end.line) add_actions(*document, one, at, list);
  }
}

void Marks::add_actions(const Document& document, const Here& here, const protocol::Range& at, Json& list) const {
  const Json mark = diagnostic(document, here);
  if (client_.can.shows_timeline && here.mark.limits) {
    // Once: the mark's own comes with the light bulb.
    const auto same = std::ranges::find_if(list, [](const Json& each) { return each["title"] == "Show in timeline"; });
    if (same != list.end()) list.erase(same);
    const Json place{{"uri", document.uri()}, {"position", to_json(at.start)}};
    list.push_back(command_at(kMarkFix, "Show in timeline", features::kTimelineCommand, place, mark));
  }
  const std::string profile = here.bundle.filename().string();
  const Json argument{{"uri", document.uri()}, {"profile", profile}, {"kind", here.mark.code}, {"line", here.mark.at.first}};
  list.push_back(command_at(kMarkFix, "Not here: " + here.mark.code, protocol::command::kSilence, argument, mark));
}

}  // namespace hotlens::session
