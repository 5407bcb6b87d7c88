// `hotlens/timeline/text`: the timeline as lines of text, after some keys were pressed.
#include "server/timeline/requests.h"
#include "server/timeline/text_viewer.h"

namespace hotlens::timeline_requests {

using protocol::Reader;

namespace {

constexpr std::size_t kMostActions = 200;  // of one request: what somebody types while the last one is answered

std::string text_in(const Reader& params, std::string_view key) {
  const auto text = params.maybe(key);
  return text ? text->string() : std::string();
}

}  // namespace

protocol::Answer text(Library& library, const Reader& params) {
  const auto view = params.maybe("view"), pressed = params.maybe("actions");
  const std::vector<Reader> actions = pressed ? pressed->items() : std::vector<Reader>();
  if (actions.size() > kMostActions) pressed->fail("at most " + std::to_string(kMostActions) + " actions");
  const std::uint32_t columns = params["columns"].unsigned32();
  Viewer viewer(library, view ? view_in(*view) : TextView{}, columns,
                {.folder = text_in(params, "folder"), .home = text_in(params, "home")});
  if (auto error = params.error()) return std::unexpected(*error);
  for (const Reader& action : actions) {
    if (auto error = viewer.act(action)) return std::unexpected(*error);
  }
  return viewer.answer();
}

}  // namespace hotlens::timeline_requests
