#include "server/timeline/text_view.h"

namespace hotlens::timeline_requests {
namespace {

using protocol::Json;
using protocol::Reader;

bool flag_in(const Reader& json, std::string_view key) {
  const auto flag = json.maybe(key);
  return flag && flag->boolean();
}

TextView::Cursor cursor_in(const Reader& json) {
  return {.depth = json["depth"].unsigned32(), .track = json["track"].string(), .at = Ns(json["at"].integer())};
}

TextView::Search search_in(const Reader& json) {
  return {.query = json["query"].string(), .step = json["step"].unsigned32(), .match = json["match"].unsigned32()};
}

}  // namespace

std::vector<std::string> strings_in(const Reader& list) {
  std::vector<std::string> strings;
  for (const Reader& each : list.items()) strings.push_back(each.string());
  return strings;
}

TextView view_in(const Reader& json) {
  TextView view{.recording = flag_in(json, "recording"), .unfold = flag_in(json, "unfold")};
  if (const auto profile = json.maybe("profile")) view.profile = profile->string();
  if (const auto step = json.maybe("step")) view.step = step->unsigned32();
  if (const auto path = json.maybe("path")) view.path = strings_in(*path);
  if (const auto zoom = json.maybe("zoom")) view.zoom = {Ns((*zoom)["from"].integer()), Ns((*zoom)["to"].integer())};
  if (const auto cursor = json.maybe("cursor")) view.cursor = cursor_in(*cursor);
  if (const auto search = json.maybe("search")) view.search = search_in(*search);
  if (const auto told = json.maybe("told")) view.told = strings_in(*told);
  return view;
}

Json view_json(const TextView& view) {
  Json json{{"profile", view.profile}, {"recording", view.recording}, {"unfold", view.unfold}, {"path", view.path}, {"told", view.told}};
  if (view.step) json["step"] = *view.step;
  if (view.zoom) json["zoom"] = {{"from", view.zoom->from.count()}, {"to", view.zoom->to.count()}};
  if (view.cursor) json["cursor"] = {{"depth", view.cursor->depth}, {"track", view.cursor->track}, {"at", view.cursor->at.count()}};
  if (view.search) json["search"] = {{"query", view.search->query}, {"step", view.search->step}, {"match", view.search->match}};
  return json;
}

}  // namespace hotlens::timeline_requests
