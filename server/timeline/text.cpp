// `hotlens/timeline/text`: the timeline as lines of text, after some keys were pressed.
#include "server/timeline/requests.h"
#include "server/timeline/text_viewer.h"

namespace hotlens::timeline_requests {
namespace {

using protocol::Answer;
using protocol::Reader;

constexpr std::size_t kMostActions = 200;  // of one request: what somebody types while the last one is answered

std::string text_in(const Reader& params, std::string_view key) {
  const auto text = params.maybe(key);
  return text ? text->string() : std::string();
}

Viewer::Action action_in(const Reader& json) {
  Viewer::Action action{.does = json["does"].string(), .query = text_in(json, "query")};
  if (const auto profile = json.maybe("profile")) action.profile = profile->string();
  if (const auto step = json.maybe("step")) action.step = step->unsigned32();
  if (const auto path = json.maybe("path")) action.path = strings_in(*path);
  return action;
}

}  // namespace

Answer text(Library& library, const Reader& params) {
  const auto seen = params.maybe("view"), pressed = params.maybe("actions");
  TextView view = seen ? view_in(*seen) : TextView{};
  std::vector<Viewer::Action> actions;
  if (pressed) {
    for (const Reader& each : pressed->items()) actions.push_back(action_in(each));
  }
  if (actions.size() > kMostActions) params["actions"].fail("at most " + std::to_string(kMostActions) + " actions");
  const std::uint32_t columns = params["columns"].unsigned32();
  Viewer viewer(library, std::move(view), columns, {.folder = text_in(params, "folder"), .home = text_in(params, "home")});
  if (auto error = params.error()) return std::unexpected(*error);
  for (const Viewer::Action& action : actions) {
    if (auto error = viewer.act(action)) return std::unexpected(*error);
  }
  return viewer.answer();
}

}  // namespace hotlens::timeline_requests
