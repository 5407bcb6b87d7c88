#include "server/session/timeline/batch_sizes.h"

#include <fmt/format.h>
#include <algorithm>
#include <memory>

#include "annotator/common/file.h"
#include "protocol/reader.h"
#include "protocol/uri.h"
#include "server/features/actions/batch_size.h"
#include "server/features/words/format.h"
#include "server/session/client/source_edits.h"
#include "server/session/documents/convert.h"
#include "server/timeline/answers.h"
#include "server/timeline/settings_files.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

struct Wish {
  fs::path file;
  std::int64_t was = 0, size = 0;
};

std::string label_of(const Wish& wish) {
  return fmt::format("Batch size {} → {}", wish.was, wish.size);
}

std::string nowhere(const Wish& wish) {
  return fmt::format(
      "{} does not set a batch size of {} with one number any more: the text changed since it was measured. Profile it again.",
      features::plain(wish.file.filename().string()), wish.was);
}

// The edit for a client that has this version of the text; no version: the file is not open there.
std::optional<Json> edit_of(const std::optional<features::TextEdit>& edit, const Places& places, const std::string& uri,
                            std::optional<std::int64_t> version, bool document_changes) {
  if (!edit) return std::nullopt;
  const Json edits = {{{"range", to_json(places.to_client(edit->range))}, {"newText", edit->text}}};
  return workspace_edit(uri, version, edits, document_changes);
}

bool in_workspace(const fs::path& file, const std::vector<fs::path>& folders) {
  return std::ranges::any_of(folders, [&](const fs::path& folder) { return is_inside(file, folder); });
}

// On the pool.
Result<std::optional<Json>> edit_on_disk(const Wish& wish, const ClientCapabilities& can) {
  auto text = read_file(wish.file, kMostSource);
  if (!text) return std::unexpected(text.error());
  const protocol::LineIndex lines(*text);
  const auto edit = timeline_requests::is_settings_file(wish.file)
                        ? features::batch_size_edit_in_settings(*text, wish.was, wish.size)
                        : features::batch_size_edit(source::Tree::parse(*text), wish.was, wish.size);
  return edit_of(edit, Places(*text, lines, can.encoding), protocol::uri_of_path(wish.file), std::nullopt, can.document_changes);
}

void add(Json& sizes, const Predictions& now, bool in_editor) {
  if (now.known && sizes["points"].empty()) timeline_requests::put_batch_sizes(sizes, *now.known);  // the bundle could not be written to
  const bool can = in_editor && now.refused.empty();
  sizes["predict"] = now.running ? "running" : can ? "offered" : "none";
  const std::string refused = in_editor ? now.refused : std::string(kPredictInEditor);
  if (const std::string& why = now.failed.empty() ? refused : now.failed; !why.empty()) sizes["why"] = why;
}

}  // namespace

protocol::Reply with_predictions(protocol::Reply reply, const Client& client, PredictionsOf predictions, bool in_editor) {
  return protocol::Reply([&client, in_editor, of = std::move(predictions), reply = std::move(reply)](protocol::Outcome outcome) mutable {
    if (auto* answer = std::get_if<protocol::Answer>(&outcome); answer != nullptr && *answer && (*answer)->contains("batchSize")) {
      add(**answer, of((*answer)->at("profile").get<std::string>()), in_editor);
      (**answer)["edits"] = client.can.apply_edit;
    }
    std::visit(reply, std::move(outcome));
  });
}

void set_batch_size(Loop& loop, Client& client, Workspace& workspace, const Json& params, protocol::Reply reply) {
  const Reader reader(params);
  const Wish wish{.file = reader["file"].string(), .was = reader["was"].integer(), .size = reader["batchSize"].integer()};
  if (wish.was <= 0 || wish.size <= 0) reader["batchSize"].fail("a batch size above 0");
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (wish.was == wish.size) return reply(not_applied("This is the measured batch size."));
  if (!client.can.apply_edit) return reply(not_applied("This editor takes no edits from a language server: set the number there."));
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  if (const Document* open = workspace.documents.at(wish.file); open != nullptr) {
    if (!open->in_step()) return (*held)(not_applied("The editor's text of this file is not known just now. Try again."));
    const Places places(open->text(), open->lines(), client.can.encoding);
    auto edit = edit_of(features::batch_size_edit(open->tree(), wish.was, wish.size), places, open->uri(), open->version(),
                        client.can.document_changes);
    if (!edit) return (*held)(not_applied(nowhere(wish)));
    return send_edit(client, label_of(wish), std::move(*edit), held);
  }
  const std::string name = features::plain(wish.file.filename().string());
  if (wish.file.extension() != ".py" && !timeline_requests::is_settings_file(wish.file))
    return (*held)(not_applied("Open " + name + " in the editor first."));
  if (!in_workspace(wish.file, workspace.folders)) return (*held)(not_applied(name + " is in no folder of the workspace: open it first."));
  const auto find = [wish, can = client.can] { return edit_on_disk(wish, can); };
  loop.work(find, [&client, wish, held](Result<Result<std::optional<Json>>> found) {
    if (!found || !*found) return (*held)(not_applied(found ? found->error().message : found.error().message));
    if (!**found) return (*held)(not_applied(nowhere(wish)));
    send_edit(client, label_of(wish), std::move(***found), held);
  });
}

}  // namespace hotlens::session
