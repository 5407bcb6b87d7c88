#include "server/session/lines/calls.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protocol/reader.h"
#include "protocol/uri.h"
#include "server/features/actions/calls.h"
#include "server/session/documents/convert.h"
#include "server/session/lines/hot_search.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;

struct Place {
  fs::path file;
  features::CallPlace place;
  protocol::Range range;  // as the client counts
};

struct CallSearch {
  ProfileStore::Shared profile;  // not null
  std::vector<profile::ModuleId> layers;
  std::map<fs::path, features::FileView> open;
  features::Folders readable;
  features::Options options;
  protocol::Encoding encoding;

  std::vector<Place> places() const;  // reads files: on the pool

 private:
  void add(std::vector<Place>& all, const fs::path& file, const features::FileView& view) const;
};

void CallSearch::add(std::vector<Place>& all, const fs::path& file, const features::FileView& view) const {
  const std::string& text = view.tree.text();
  const protocol::LineIndex lines(text);
  const Places convert(text, lines, encoding);
  for (features::CallPlace& place : features::places_of(view, layers, options)) {
    const protocol::Range range = convert.to_client(place.range);
    all.push_back({file, std::move(place), range});
  }
}

std::vector<Place> CallSearch::places() const {
  std::vector<Place> all;
  for (std::uint32_t i = 0; i < profile->files.size(); ++i) {
    const profile::SourceFile& file = profile->files[i];
    if (open.contains(file.path) || !file.workspace || !features::has_places_of(*profile, {i}, layers)) continue;
    if (const auto view = view_on_disk(profile, file.path, readable)) add(all, file.path, *view);
  }
  for (const auto& [file, view] : open) add(all, file, view);
  std::ranges::stable_sort(all, {}, [](const Place& each) { return std::tuple(each.place.role == source::Role::call, each.file); });
  return all;
}

Json nothing(const char* message) {
  return {{"places", Json::array()}, {"message", message}};
}

}  // namespace

std::string Calls::uri_of(const fs::path& file) const {
  const Document* document = workspace_.documents.at(file);
  return document != nullptr ? document->uri() : protocol::uri_of_path(file);
}

void Calls::list(const Json& argument, Reply reply) {
  const Reader reader(argument);
  const auto uri = reader.maybe("uri"), position = reader.maybe("position");
  const Document* document = uri ? workspace_.documents.find(uri->string()) : nullptr;
  const protocol::Position at = position ? read_position(*position) : protocol::Position{};
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (document == nullptr || !position || !document->in_step()) return reply(nothing("Put the cursor on a layer of an open file."));
  const Places here(document->text(), document->lines(), client_.can.encoding);
  CallSearch task{
      .profile = document->profile(),
      .layers = features::layers_at(document->view(), here.to_source(at)),
      .open = {},
      .readable = workspace_.trusted ? features::Folders() : features::Folders(workspace_.folders),
      .options = {.min_share = workspace_.settings.hints_min_percent / 100, .unit = workspace_.settings.hints_unit, .tooltips = false},
      .encoding = client_.can.encoding};
  if (task.layers.empty()) return reply(nothing("No layer was measured on this line."));
  for (const auto& [name, each] : workspace_.documents) {
    if (each.in_step() && each.has_facts() && each.profile() == task.profile) task.open.emplace(each.path(), each.view());
  }
  auto held = std::make_shared<Reply>(std::move(reply));
  loop_.work([task = std::move(task)] { return task.places(); },
             [this, held](Result<std::vector<Place>> found) {
               Json places = Json::array();
               for (const Place& each : found ? *found : std::vector<Place>{}) {
                 places.push_back({{"uri", uri_of(each.file)},
                                   {"range", to_json(each.range)},
                                   {"role", source::name(each.place.role)},
                                   {"text", each.place.text},
                                   {"label", each.place.label}});
               }
               (*held)(Json{{"places", std::move(places)}});
             });
}

}  // namespace hotlens::session
