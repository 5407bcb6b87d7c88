#include "server/session/profiling/choice.h"

#include <algorithm>
#include <optional>

#include "protocol/reader.h"
#include "server/features/words/format.h"
#include "server/runs/configurations.h"
#include "server/session/client/choice_dialog.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;
using protocol::Reply;

constexpr const char* kNoConfiguration = "No configuration";

// Those of VS Code are optional: somebody who chose one can go back.
bool can_have_none(const runs::Offers& offers) {
  return offers.written == 0 && !offers.all.empty();
}

Json choices_json(const runs::Offers& offers) {
  Json list = Json::array();
  for (const runs::Configuration& each : offers.all) {
    const bool chosen = offers.used() == &each;
    list.push_back({{"label", each.label()}, {"detail", each.summary()}, {"file", each.file.filename().string()}, {"chosen", chosen}});
  }
  if (can_have_none(offers)) {
    list.push_back({{"label", kNoConfiguration},
                    {"detail", "as the settings say, or as it ran last"},
                    {"file", ""},
                    {"chosen", offers.used() == nullptr}});
  }
  return list;
}

// What of launch.json is not offered, and why; the first few.
std::string left_out_words(const runs::Offers& offers) {
  constexpr std::size_t kMost = 3;
  std::string words;
  for (std::size_t i = 0; i < std::min(kMost, offers.left_out.size()); ++i)
    words += (i == 0 ? "" : "; ") + features::plain(offers.left_out[i]);
  if (offers.left_out.size() > kMost) words += "; and " + std::to_string(offers.left_out.size() - kMost) + " more";
  return words.empty() ? "" : " Left out of launch.json: " + words + ".";
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
                             runs::configurations_file(target.folder).string() + ", each with a `name`." + left_out_words(target.offers);
    client_.show(MessageType::info, none);
    return (*reply)(not_started(none));
  }
  const runs::Configuration* used = target.offers.used();
  if (asked.configuration && used != nullptr) {
    return remember(target, used, [this, asked, reply] { profiling_.profile(asked, std::move(*reply)); });
  }
  (*reply)(Json{{"started", false}, {"asked", true}});
  decide(asked, target);
}

void RunChoice::decide(const ProfileArguments& asked, const Target& target) {
  ask(asked, target, [this](const ProfileArguments& decided) { profiling_.profile(decided, std::move(*nobody())); });
}

void RunChoice::ask(const ProfileArguments& asked, const Target& target, std::function<void(const ProfileArguments&)> then) {
  auto chosen = [this, asked, target, then = std::move(then)](std::size_t index) {
    ProfileArguments decided = asked;
    decided.script = target.script.string();  // the same one, whatever is looked at by then
    const bool none = index == target.offers.all.size();
    if (!none) decided.configuration = target.offers.all[index].label();
    remember(target, none ? nullptr : &target.offers.all[index], [decided, then] { then(decided); });
  };
  ask_for_choice(client_,
                 {.title = "How to run " + target.name(),
                  .message = "The run configuration to profile with. The choice is remembered." + left_out_words(target.offers),
                  .words = choice_words(target) + left_out_words(target.offers),
                  .choices = choices_json(target.offers)},
                 std::move(chosen));
}

// A choice that cannot be kept counts for this run. Null: none of them.
void RunChoice::remember(const Target& target, const runs::Configuration* choice, std::function<void()> then) {
  auto keep = [folder = target.folder, script = target.script, module = target.module,
               kept = choice != nullptr ? std::optional(*choice) : std::nullopt] {
    return kept ? runs::remember_choice(folder, script, *kept) : runs::forget_choice(folder, script, module);
  };
  loop_.work(std::move(keep), [this, then = std::move(then)](const Result<void>& kept) {
    if (!kept) client_.show(MessageType::warning, kept.error().message);
    chosen_();
    then();
  });
}

}  // namespace hotlens::session
