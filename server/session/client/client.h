// The sending side of the conversation: answers, notifications, and requests of our own with their answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/rpc.h"
#include "server/session/client/capabilities.h"
#include "server/session/client/channel.h"
#include "server/session/documents/cell_places.h"

namespace hotlens::session {

// Of what a person chose in a message: nobody waits for it.
std::shared_ptr<protocol::Reply> nobody();

enum class MessageType : std::uint8_t { error = 1, warning = 2, info = 3, log = 4 };

// Of a diagnostic, as LSP numbers them.
namespace severity {
constexpr int kError = 1, kWarning = 2, kInformation = 3, kHint = 4;
}

class Client {
 public:
  using Send = std::function<void(std::string body, Output::Weight weight)>;
  using Then = std::move_only_function<void(protocol::Answer)>;

  // Places in the script of one of `notebooks` are told in its cells.
  explicit Client(Send send, const Notebooks& notebooks = no_notebooks()) : send_(std::move(send)), notebooks_(notebooks) {}

  void respond(const protocol::Json& id, const protocol::Outcome& outcome);
  void notify(std::string_view method, const protocol::Json& params, Output::Weight weight = Output::Weight::needed);
  void request(std::string_view method, const protocol::Json& params, Then then = nullptr);
  void on_response(protocol::Response response);  // unknown ids are ignored

  void show(MessageType type, std::string_view text);
  void log(std::string_view text);

  // A button of a message.
  struct Choice {
    std::string title;
    std::string id;  // what it does, for a client that offers it in another way
  };
  // The same message with buttons, where the client can have them. `chosen` gets the id; nothing comes where nobody chooses.
  void ask(MessageType type, std::string_view text, std::vector<Choice> choices, std::function<void(const std::string& id)> chosen);

  // What one part of the server has to say about a file; the client is told what all of them say.
  void diagnose(const std::string& uri, const std::string& part, protocol::Json diagnostics);

  // Asks the client to ask again (for hints: for heat and symbols, too, and for lenses where those are hints), where it can; one that
  // answers "no such method" is left in peace.
  void refresh_hints();
  void refresh_lenses();

  ClientCapabilities can;
  bool hints_are_lenses = false;  // by a setting

 private:
  static const Notebooks& no_notebooks();
  void refresh(std::string_view method);
  void refresh_symbols();

  void publish(const std::string& uri, const protocol::Json& diagnostics);

  Send send_;
  const Notebooks& notebooks_;
  std::map<std::string, std::set<std::string>> marked_cells_;  // by notebook, those that have diagnostics
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, Then> pending_;
  std::map<std::string, std::map<std::string, protocol::Json>> diagnosed_;  // by URI, then by part
  std::set<std::string, std::less<>> refused_;
};

}  // namespace hotlens::session
