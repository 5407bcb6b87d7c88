// One of several, chosen by the person: in the client's list where it has one, else in a message with a button each.
#pragma once

#include <functional>
#include <string>

#include "server/session/client/client.h"

namespace hotlens::session {

struct ChoiceDialog {
  std::string title, message;  // of the list
  std::string words;           // of the message that stands for it
  protocol::Json choices;      // rows of `hotlens/choose` (protocol/MESSAGES.md)
};
// `chosen` gets the row's index; nothing where the person chose none.
void ask_for_choice(Client& client, ChoiceDialog dialog, std::function<void(std::size_t)> chosen);

}  // namespace hotlens::session
