#include "server/session/run_choice.h"

#include <optional>

#include "protocol/messages.h"
#include "protocol/reader.h"
#include "server/runs/configurations.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;
using protocol::Reply;

Json choices_json(const runs::Offers& offers) {
  Json list = Json::array();
  for (const runs::Configuration& each : offers.all) {
    const bool chosen = offers.used() == &each;
    list.push_back({{"label", each.label()}, {"detail", each.summary()}, {"file", each.file.filename().string()}, {"chosen", chosen}});
  }
  return list;
}

// What the person chose, if it is one of them.
std::optional<std::size_t> choice_of(const protocol::Answer& answer, const Target& target) {
  if (!answer || !answer->is_object() || !answer->contains("index") || !(*answer)["index"].is_number_unsigned()) return std::nullopt;
  const auto index = (*answer)["index"].get<std::size_t>();
  return index < target.offers.all.size() ? std::optional(index) : std::nullopt;
}

}  // namespace

void RunChoice::choose(const Json& argument, Reply reply) {
  const Reader reader(argument);
  ProfileArguments asked = read_profile_arguments(reader);
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!profiling_.allowed()) return reply(not_started(kUntrusted));
  auto held = std::make_shared<Reply>(std::move(reply));
  auto look = [input = profiling_.input_for(asked)] { return target_of(input); };
  loop_.work(std::move(look), [this, asked = std::move(asked), held](const Result<Target>& target) {
    if (target) return offer(asked, *target, held);
    client_.show(MessageType::error, target.error().message);
    (*held)(not_started(target.error().message));
  });
}

void RunChoice::offer(const ProfileArguments& asked, const Target& target, const Held& reply) {
  if (target.offers.all.empty()) {
    const std::string none = target.name() + " has no run configuration. Write some into " +
                             runs::configurations_file(target.folder).string() + ", each with a `name`.";
    client_.show(MessageType::info, none);
    return (*reply)(not_started(none));
  }
  const runs::Configuration* used = target.offers.used();
  if (asked.configuration && used != nullptr) {
    return remember(target, *used, [this, asked, reply] { profiling_.profile(asked, std::move(*reply)); });
  }
  (*reply)(Json{{"started", false}, {"asked", true}});
  decide(asked, target);
}

void RunChoice::decide(const ProfileArguments& asked, const Target& target) {
  ask(asked, target, [this](const ProfileArguments& decided) { profiling_.profile(decided, Reply([](const protocol::Outcome&) {})); });
}

void RunChoice::ask(const ProfileArguments& asked, const Target& target, std::function<void(const ProfileArguments&)> then) {
  auto chosen = [this, asked, target, then = std::move(then)](std::size_t index) {
    ProfileArguments decided = asked;
    decided.configuration = target.offers.all[index].label();
    decided.script = target.script.string();  // the same one, whatever is looked at by then
    remember(target, target.offers.all[index], [decided, then] { then(decided); });
  };
  if (client_.can.dialogs) {
    const Json params{{"title", "How to run " + target.name()}, {"choices", choices_json(target.offers)}};
    return client_.request(protocol::message::kChoose, params, [target, chosen = std::move(chosen)](const protocol::Answer& answer) {
      if (const auto index = choice_of(answer, target)) chosen(*index);
    });
  }
  std::vector<Client::Choice> buttons;
  for (const runs::Configuration& each : target.offers.all) buttons.push_back({each.label(), std::to_string(buttons.size())});
  client_.ask(MessageType::info, choice_words(target), std::move(buttons), [chosen](const std::string& id) { chosen(std::stoul(id)); });
}

// A choice that cannot be kept counts for this run.
void RunChoice::remember(const Target& target, const runs::Configuration& choice, std::function<void()> then) {
  auto keep = [folder = target.folder, script = target.script, choice] { return runs::remember_choice(folder, script, choice); };
  loop_.work(std::move(keep), [this, then = std::move(then)](const Result<void>& kept) {
    if (!kept) client_.show(MessageType::warning, kept.error().message);
    chosen_();
    then();
  });
}

}  // namespace hotlens::session
