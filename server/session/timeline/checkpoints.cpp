#include "server/session/timeline/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/common/file.h"
#include "annotator/lab/checkpoint/kept.h"
#include "protocol/reader.h"
#include "server/features/words/format.h"
#include "server/session/client/source_edits.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

struct CheckpointWish {
  std::string profile;
  std::vector<std::string> blocks;
};

// A text that the client has, when the edit was asked for.
struct Open {
  fs::path path;
  std::string uri, text;
  std::int64_t version = 0;
};

struct Made {
  advice::Sources sources;
  advice::Edits edits;
};

std::vector<Open> open_texts(const Workspace& workspace) {
  std::vector<Open> all;
  for (const auto& [uri, document] : workspace.documents) all.push_back({document.path(), uri, document.text(), document.version()});
  return all;
}

bool was_replayed(const lab::KeptCheckpoints& kept, const std::vector<std::string>& blocks) {
  return std::ranges::any_of(kept.curve.points, [&](const lab::CurvePoint& point) { return point.time && point.blocks == blocks; });
}

// On the pool.
Result<Made> made(timeline_requests::Library& library, const CheckpointWish& wish, const std::vector<Open>& open) {
  const auto opened = library.open(wish.profile);
  if (!opened) return std::unexpected(opened.error());
  const profile::Profile& profile = (*opened)->profile();
  const auto kept = profile.folder.empty() ? std::nullopt : lab::read_kept_checkpoints(profile.folder, profile.id);
  if (!kept || !was_replayed(*kept, wish.blocks)) {
    return std::unexpected(Error{ErrorCode::not_found, "This choice of blocks was not replayed. Run hotlens whatif checkpoint again.", {}});
  }
  auto sources = advice::read_sources(profile.folder);
  if (!sources) return std::unexpected(sources.error());
  for (const Open& one : open) advice::open_in_editor(*sources, one.path, one.text);
  auto edits = advice::edits_of({{.kind = "checkpoint", .modules = wish.blocks}}, *sources);
  if (!edits) return std::unexpected(Error{ErrorCode::unsupported, advice::sentence(edits.error()) + ".", {}});
  return Made{std::move(*sources), std::move(*edits)};
}

// Why these files cannot be edited now; empty: they can.
std::string refusal(const Made& made, Workspace& workspace, const std::vector<Open>& asked) {
  for (const advice::FileEdit& edit : made.edits) {
    const fs::path& file = made.sources.files[edit.file].path;
    const std::string name = features::plain(file.filename().string());
    const auto before = std::ranges::find(asked, file, &Open::path);
    const Document* now = workspace.documents.at(file);
    if ((now != nullptr) != (before != asked.end())) return name + " was opened or closed meanwhile. Try again.";
    if (now != nullptr && (!now->in_step() || now->version() != before->version)) return name + " changed meanwhile. Try again.";
    const bool inside = std::ranges::any_of(workspace.folders, [&](const fs::path& folder) { return is_inside(file, folder); });
    if (now == nullptr && !inside) return name + " is in no folder of the workspace: open it first.";
  }
  return {};
}

std::string label_of(const CheckpointWish& wish) {
  return fmt::format("Checkpoint {} block{}", wish.blocks.size(), wish.blocks.size() == 1 ? "" : "s");
}

}  // namespace

protocol::Reply with_edits(protocol::Reply reply, const Client& client, const Workspace& workspace) {
  return protocol::Reply([&client, &workspace, reply = std::move(reply)](protocol::Outcome outcome) mutable {
    if (auto* answer = std::get_if<protocol::Answer>(&outcome); answer != nullptr && *answer && (*answer)->contains("edits")) {
      (**answer)["edits"] = client.can.apply_edit && workspace.trusted;
    }
    std::visit(reply, std::move(outcome));
  });
}

protocol::Reply with_plan(protocol::Reply reply, const PlanOf& plan) {
  return protocol::Reply([plan, reply = std::move(reply)](protocol::Outcome outcome) mutable {
    if (auto* answer = std::get_if<protocol::Answer>(&outcome); answer != nullptr && *answer && (*answer)->contains("profile")) {
      (**answer)["plan"] = plan((**answer)["profile"].get<std::string>());
    }
    std::visit(reply, std::move(outcome));
  });
}

void set_checkpoints(Loop& loop, Client& client, Workspace& workspace, std::shared_ptr<timeline_requests::Library> library,
                     const Json& params, protocol::Reply reply) {
  const Reader reader(params);
  CheckpointWish wish{.profile = reader["profile"].string(), .blocks = {}};
  for (const Reader& block : reader["blocks"].items()) wish.blocks.push_back(block.string());
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!client.can.apply_edit) return reply(not_applied("This editor takes no edits from a language server."));
  if (!workspace.trusted) return reply(not_applied("The workspace is not trusted, and the files of the profile have to be read for it."));
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  auto open = std::make_shared<const std::vector<Open>>(open_texts(workspace));
  auto make = [library = std::move(library), wish, open] { return made(*library, wish, *open); };
  loop.work(std::move(make), [&client, &workspace, wish, held, open](Result<Result<Made>> done) {
    if (!done || !*done) return (*held)(not_applied(done ? done->error().message : done.error().message));
    const Made& found = **done;
    if (const std::string why = refusal(found, workspace, *open); !why.empty()) return (*held)(not_applied(why));
    const auto document = [&](const fs::path& file) -> const Document* { return workspace.documents.at(file); };
    send_edit(client, label_of(wish), workspace_edit(found.edits, found.sources, document, client.can), held);
  });
}

}  // namespace hotlens::session
