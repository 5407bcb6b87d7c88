#include "server/session/client/choice_dialog.h"

#include <optional>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace hotlens::session {
namespace {

using protocol::Json;

std::optional<std::size_t> index_of(const protocol::Answer& answer, std::size_t count) {
  if (!answer || !answer->is_object() || !answer->contains("index") || !(*answer)["index"].is_number_unsigned()) return std::nullopt;
  const auto index = (*answer)["index"].get<std::size_t>();
  return index < count ? std::optional(index) : std::nullopt;
}

}  // namespace

void ask_for_choice(Client& client, ChoiceDialog dialog, std::function<void(std::size_t)> chosen) {
  if (client.can.dialogs) {
    const std::size_t count = dialog.choices.size();
    const Json params{{"title", dialog.title}, {"message", dialog.message}, {"choices", std::move(dialog.choices)}};
    return client.request(protocol::message::kChoose, params, [count, chosen = std::move(chosen)](const protocol::Answer& answer) {
      if (const auto index = index_of(answer, count)) chosen(*index);
    });
  }
  std::vector<Client::Choice> buttons;
  for (const Json& each : dialog.choices) buttons.push_back({each["label"].get<std::string>(), std::to_string(buttons.size())});
  client.ask(MessageType::info, dialog.words, std::move(buttons),
             [chosen = std::move(chosen)](const std::string& id) { chosen(std::stoul(id)); });
}

}  // namespace hotlens::session
