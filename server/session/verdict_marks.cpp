#include "server/session/verdict_marks.h"

#include <algorithm>
#include <utility>

#include "annotator/common/file.h"
#include "protocol/messages.h"
#include "server/features/commands.h"
#include "server/features/file_facts.h"
#include "server/features/step_words.h"
#include "server/session/convert.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

constexpr const char* kVerdictPart = "verdict";
// Another session may silence, or tell again; it costs a look at a folder entry.
constexpr std::chrono::seconds kJudgeEvery{2};

Json command_at(const char* kind, const std::string& title, std::string_view command, Json argument, const Json& diagnostic) {
  return {{"title", title},
          {"kind", kind},
          {"diagnostics", {diagnostic}},
          {"command", {{"title", title}, {"command", command}, {"arguments", {std::move(argument)}}}}};
}

}  // namespace

void VerdictMarks::start() {
  look();
  poll_ = loop_.after(kJudgeEvery, [this] { start(); });
}

void VerdictMarks::look() {
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

void VerdictMarks::seen(Result<Lists> read) {
  looking_ = false;
  if (!read || read->empty()) return;
  for (auto& [list, known] : *read) silenced_.insert_or_assign(list, std::move(known));
  mark();
}

void VerdictMarks::mark() {
  for (const auto& [uri, document] : workspace_.documents) {
    Json list = Json::array();
    if (const auto one = here(document)) list.push_back(diagnostic(document, *one));
    client_.diagnose(uri, kVerdictPart, std::move(list));
  }
}

void VerdictMarks::closed(const std::string& uri) {
  client_.diagnose(uri, kVerdictPart, Json::array());
}

// Nothing before it is known what is silenced.
std::optional<VerdictMarks::Here> VerdictMarks::here(const Document& document) const {
  const features::FileFacts* facts = document.facts();
  if (!document.in_step() || facts == nullptr || !facts->verdict || facts->profile->folder.empty()) return std::nullopt;
  const features::VerdictMark& mark = *facts->verdict;
  const auto range = advice::range_now(mark.at, document.text());
  const fs::path list = advice::silenced_of(facts->profile->folder);
  const auto silenced = silenced_.find(list);
  advice::Silenced place{
      .kind = mark.code, .file = facts->profile->files.at(facts->file.index).path, .text = mark.at.text, .nth = mark.at.nth};
  if (!range || silenced == silenced_.end() || advice::silences(silenced->second.places, place)) return std::nullopt;
  return Here{.mark = mark, .range = *range, .bundle = facts->profile->folder, .place = {list, std::move(place)}};
}

Json VerdictMarks::diagnostic(const Document& document, const Here& here) const {
  const Places places(document.text(), document.lines(), client_.can.encoding);
  return {{"range", to_json(places.to_client(here.range))},
          {"severity", severity::kHint},
          {"source", "hotlens"},
          {"code", here.mark.code},
          {"message", here.mark.message}};
}

std::optional<Silencing::Entry> VerdictMarks::find(const std::string& profile, const std::string& kind) const {
  for (const auto& [uri, document] : workspace_.documents) {
    const auto one = here(document);
    if (one && one->mark.code == kind && one->bundle.filename().string() == profile) return one->place;
  }
  return std::nullopt;
}

std::string VerdictMarks::evidence(const Document& document, std::uint32_t line) const {
  const auto one = here(document);
  if (!one || one->range.begin.line != line) return "";
  return features::limit_of_step(*document.facts()->profile, client_.can.hover_markdown);
}

void VerdictMarks::add_actions(const Json& params, Json& list) const {
  constexpr const char* kFix = "quickfix";
  const Reader reader(params);
  const Document* document = workspace_.documents.find(reader["textDocument"]["uri"].string());
  const protocol::Range asked = read_range(reader["range"]);
  const auto one = document != nullptr ? here(*document) : std::nullopt;
  if (reader.error() || !one || !list.is_array() || !client_.can.action_literals || !wants_kind(reader, kFix)) return;
  const Json mark = diagnostic(*document, *one);
  const protocol::Range at = Places(document->text(), document->lines(), client_.can.encoding).to_client(one->range);
  if (at.start.line < asked.start.line || at.start.line > asked.end.line) return;
  if (client_.can.shows_timeline) {
    // Once: the mark's own comes with the light bulb.
    const auto same = std::ranges::find_if(list, [](const Json& each) { return each["title"] == "Show in timeline"; });
    if (same != list.end()) list.erase(same);
    const Json place{{"uri", document->uri()}, {"position", to_json(at.start)}};
    list.push_back(command_at(kFix, "Show in timeline", features::kTimelineCommand, place, mark));
  }
  const Json argument{{"uri", document->uri()}, {"profile", one->bundle.filename().string()}, {"kind", one->mark.code}};
  list.push_back(command_at(kFix, "Not here: " + one->mark.code, protocol::command::kSilence, argument, mark));
}

}  // namespace hotlens::session
