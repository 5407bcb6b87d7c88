#include "server/session/profiling/arguments.h"

#include <memory>
#include <utility>

#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/runs/configurations.h"
#include "server/runs/words.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;
using protocol::Reply;

constexpr const char* kSet = "arguments";
constexpr const char* kLog = "log";

}  // namespace

void RunArguments::refused(const ProfileArguments& asked, const std::string& message) {
  std::vector<Client::Choice> choices{{"Set arguments…", kSet}};
  if (client_.can.dialogs) choices.push_back({client_.can.output ? "Show output" : "Show log", kLog});
  client_.ask(MessageType::error, message, std::move(choices), [this, asked](const std::string& id) {
    if (id == kLog) return client_.notify(protocol::message::kShowLog, Json::object());
    find(asked, [this, asked](const Target& target, const Held&) { prompt(asked, target, target.arguments, ""); }, nobody());
  });
}

void RunArguments::set(const Json& argument, Reply reply) {
  const Reader reader(argument);
  ProfileArguments asked = read_profile_arguments(reader);
  const auto given = reader.maybe("arguments");
  const std::optional<std::string> line = given ? std::optional(given->string()) : std::nullopt;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  asked.args.reset();
  auto found = [this, asked, line](const Target& target, const Held& waiting) {
    if (line) return run(asked, target, *line, waiting);
    if (!client_.can.dialogs) return open_file(target, waiting);
    (*waiting)(Json{{"started", false}, {"asked", true}});
    prompt(asked, target, target.arguments, "");
  };
  find(asked, std::move(found), std::make_shared<Reply>(std::move(reply)));
}

// `reply` gets the reason where there is no script, or none that may be run. Of several configurations the person chooses one first.
void RunArguments::find(ProfileArguments asked, Found found, Held reply) {
  if (!profiling_.allowed()) return (*reply)(not_started(kUntrusted));
  auto look = [input = profiling_.input_for(asked)] { return target_of(input); };
  loop_.work(std::move(look), [this, asked = std::move(asked), found = std::move(found), reply](Result<Target> target) {
    if (!target) return fail(target.error().message, reply);
    if (const auto& used = target->configured; used && used->of_vscode) {
      return fail(
          used->label() + " stands in " + used->file.string() + ": change its arguments there, or choose another run configuration.",
          reply);
    }
    if (!target->offers.undecided()) return found(*target, reply);
    (*reply)(Json{{"started", false}, {"asked", true}});
    choice_.ask(asked, *target, [this, found](const ProfileArguments& decided) { find(decided, found, nobody()); });
  });
}

void RunArguments::prompt(const ProfileArguments& asked, const Target& target, const std::string& value, const std::string& wrong) {
  if (!client_.can.dialogs) return open_file(target, nobody());
  Json params{{"title", "Arguments of " + target.name()}, {"value", value}};
  if (!wrong.empty()) params["message"] = wrong;
  client_.request(protocol::message::kPrompt, params, [this, asked, target](const protocol::Answer& answer) {
    if (!answer || !answer->is_object() || !answer->contains("value") || !(*answer)["value"].is_string()) return;
    const auto line = (*answer)["value"].get<std::string>();
    if (const auto words = runs::split_words(line); !words) return prompt(asked, target, line, words.error().message);
    run(asked, target, line, nobody());
  });
}

void RunArguments::run(ProfileArguments asked, const Target& target, const std::string& line, Held reply) {
  if (const auto words = runs::split_words(line); !words) return fail("The arguments are not kept: " + words.error().message + ".", reply);
  asked.script = target.script.string();  // the same one, whatever is looked at by then
  if (target.offers.all.size() > 1 && target.configured) asked.configuration = target.configured->label();
  store(target, line, [this, asked, reply] { profiling_.profile(asked, std::move(*reply)); }, reply);
}

void RunArguments::open_file(const Target& target, Held reply) {
  auto kept = [this, target, reply] {
    const std::string file = runs::configurations_file(target.folder).string();
    client_.show(MessageType::info, "Write the arguments of " + target.name() + " into " + file + " and profile again.");
    if (client_.can.show_document) client_.request("window/showDocument", {{"uri", protocol::uri_of_path(file)}, {"takeFocus", true}});
    (*reply)(Json{{"started", false}, {"file", file}});
  };
  store(target, target.arguments, std::move(kept), reply);
}

void RunArguments::store(const Target& target, const std::string& line, std::function<void()> then, Held reply) {
  const runs::Stored of{.script = target.script, .module = target.module, .name = target.configured ? target.configured->name : ""};
  auto keep = [folder = target.folder, of, line] { return runs::store_arguments(folder, of, line); };
  loop_.work(std::move(keep), [this, then = std::move(then), reply](const Result<void>& kept) {
    if (!kept) return fail(kept.error().message, reply);
    stored_();
    then();
  });
}

void RunArguments::fail(const std::string& message, const Held& reply) {
  client_.show(MessageType::error, message);
  (*reply)(not_started(message));
}

}  // namespace hotlens::session
