#include "server/session/client/client.h"

#include <utility>

#include "protocol/messages.h"

namespace hotlens::session {
namespace {

// A client that never answers must not make the table grow: the oldest question is given up.
constexpr std::size_t kMaxPending = 100;

}  // namespace

std::shared_ptr<protocol::Reply> nobody() {
  return std::make_shared<protocol::Reply>([](const protocol::Outcome&) {});
}

const Notebooks& Client::no_notebooks() {
  static const Notebooks kNone;
  return kNone;
}

void Client::respond(const protocol::Json& id, const protocol::Outcome& outcome) {
  const auto* answer = std::get_if<protocol::Answer>(&outcome);
  const bool places = answer != nullptr && *answer && !notebooks_.empty();
  send_(places ? protocol::encode_response(id, protocol::Answer(in_cells(notebooks_, **answer))) : protocol::encode_response(id, outcome),
        Output::Weight::needed);
}

void Client::notify(std::string_view method, const protocol::Json& params, Output::Weight weight) {
  send_(protocol::encode_notification(method, in_cells(notebooks_, params)), weight);
}

void Client::request(std::string_view method, const protocol::Json& params, Then then) {
  const std::int64_t id = next_id_++;
  pending_.emplace(id, std::move(then));
  send_(protocol::encode_request(id, method, in_cells(notebooks_, params)), Output::Weight::needed);
  if (pending_.size() <= kMaxPending) return;
  auto oldest = pending_.extract(pending_.begin());
  if (oldest.mapped()) oldest.mapped()(std::unexpected(protocol::RpcError{protocol::Code::internal_error, "the client did not answer"}));
}

void Client::on_response(protocol::Response response) {
  if (!response.id.is_number_integer()) return;
  const auto found = pending_.find(response.id.get<std::int64_t>());
  if (found == pending_.end()) return;
  Then then = std::move(found->second);
  pending_.erase(found);
  if (then) then(std::move(response.answer));
}

void Client::show(MessageType type, std::string_view text) {
  notify("window/showMessage", {{"type", static_cast<int>(type)}, {"message", text}});
}

void Client::ask(MessageType type, std::string_view text, std::vector<Choice> choices, std::function<void(const std::string&)> chosen) {
  if (!can.message_actions || choices.empty()) return show(type, text);
  protocol::Json actions = protocol::Json::array();
  for (const Choice& choice : choices) actions.push_back({{"title", choice.title}, {"id", choice.id}});
  protocol::Json params{{"type", static_cast<int>(type)}, {"message", text}, {"actions", std::move(actions)}};
  request("window/showMessageRequest", params, [choices = std::move(choices), chosen = std::move(chosen)](const protocol::Answer& answer) {
    if (!answer || !answer->is_object() || !answer->contains("title")) return;
    for (const Choice& choice : choices) {
      if ((*answer)["title"] == choice.title) chosen(choice.id);
    }
  });
}

void Client::log(std::string_view text) {
  notify("window/logMessage", {{"type", static_cast<int>(MessageType::log)}, {"message", text}}, Output::Weight::droppable);
}

void Client::diagnose(const std::string& uri, const std::string& part, protocol::Json diagnostics) {
  const auto known = diagnosed_.find(uri);
  const bool said = known != diagnosed_.end() && known->second.contains(part);
  if (diagnostics.empty() && !said) return;
  if (said && known->second.at(part) == diagnostics) return;
  auto& parts = diagnosed_[uri];
  if (diagnostics.empty()) {
    parts.erase(part);
  } else {
    parts[part] = std::move(diagnostics);
  }
  protocol::Json all = protocol::Json::array();
  for (const auto& [name, list] : parts) all.insert(all.end(), list.begin(), list.end());
  if (parts.empty()) diagnosed_.erase(uri);
  publish(uri, all);
}

// Each cell is a document of its own for the client; one that has none any more is told so.
void Client::publish(const std::string& uri, const protocol::Json& diagnostics) {
  ByCell lists = by_cell(notebooks_, uri, diagnostics);
  if (notebooks_.find(uri) != nullptr) {
    std::set<std::string> cells;
    for (const auto& [cell, list] : lists) cells.insert(cell);
    for (const std::string& before : std::exchange(marked_cells_[uri], cells)) {
      if (!cells.contains(before)) lists.emplace_back(before, protocol::Json::array());
    }
  }
  for (auto& [to, list] : lists) notify("textDocument/publishDiagnostics", {{"uri", to}, {"diagnostics", std::move(list)}});
}

void Client::refresh_hints() {
  if (can.hint_refresh && !hints_are_lenses) refresh("workspace/inlayHint/refresh");
  if (hints_are_lenses) refresh_lenses();
  if (can.heat) notify(protocol::message::kHeatChanged, protocol::Json::object());
  refresh_symbols();
}

// LSP has no request for it, but a provider that is new is asked.
void Client::refresh_symbols() {
  if (!can.symbol_trees || !can.register_symbols) return;
  const protocol::Json gone{{"id", kSymbolsId}, {"method", "textDocument/documentSymbol"}};
  request("client/unregisterCapability", {{"unregisterations", protocol::Json::array({gone})}});  // spelled as LSP spells it
  request("client/registerCapability", {{"registrations", protocol::Json::array({symbols_registration()})}});
}

void Client::refresh_lenses() {
  if (can.lens_refresh) refresh("workspace/codeLens/refresh");
}

void Client::refresh(std::string_view method) {
  if (refused_.contains(method)) return;
  request(method, nullptr, [this, method = std::string(method)](const protocol::Answer& answer) {
    if (!answer && answer.error().code == protocol::Code::method_not_found) refused_.insert(method);
  });
}

}  // namespace hotlens::session
