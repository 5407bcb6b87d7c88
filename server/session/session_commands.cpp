// What a person asks for: commands, and code actions that lead to them.
#include <optional>
#include <utility>

#include "protocol/messages.h"
#include "server/features/words/hint_units.h"
#include "server/session/session.h"

namespace hotlens::session {

namespace fs = std::filesystem;
namespace command = protocol::command;
using protocol::Answer;
using protocol::Code;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;
using protocol::RpcError;

void Session::execute_command(const Json& params, Reply reply) {
  const Reader reader(params);
  const std::string command = reader["command"].string();
  Json argument;
  if (const auto arguments = reader.maybe("arguments")) {
    if (const auto items = arguments->items(); !items.empty()) argument = items.front().json();
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!argument.is_null() && !argument.is_object()) {
    return reply(std::unexpected(RpcError{Code::invalid_params, "expected an object at /arguments/0"}));
  }
  if (command == command::kProfile) return profile(argument, std::move(reply));
  if (command == command::kPredict) return predict(argument, std::move(reply));
  if (command == command::kSetArguments) return arguments_.set(argument, std::move(reply));
  if (command == command::kChooseRun) return choice_.choose(argument, std::move(reply));
  if (command == command::kChooseInterpreter) return interpreters_.choose(argument, std::move(reply));
  if (command == command::kHotLine) return hot_lines_.go(argument, std::move(reply));
  if (command == command::kCalls) return calls_.list(argument, std::move(reply));
  if (command == command::kDescribe) return reply(described(known(), argument));
  if (command == command::kShowProfile) return history_.show(argument, std::move(reply));
  if (command == command::kSetBaseline) return history_.set_baseline(argument, std::move(reply));
  if (command == command::kCancel) return reply(cancel(argument));
  if (command == command::kHintUnit) return reply(change_unit(argument));
  if (command == command::kWhatIf) return what_helps_.ask(argument, std::move(reply));
  if (command == command::kTrySweep) return what_helps_.try_sweep(argument, std::move(reply));
  if (command == command::kVerify) return verifying_.verify(argument, std::move(reply));
  if (command == command::kApplied) return advising_.applied(argument, std::move(reply));
  if (command == command::kSilence) return silencing_.silence(argument, std::move(reply));
  if (command == command::kTellAgain) return silencing_.tell_again(argument, std::move(reply));
  if (command == command::kOpenTimeline) return timeline_.open(argument, std::move(reply));
  if (command != command::kReload) return reply(std::unexpected(RpcError{Code::invalid_params, "no such command: " + command}));
  profiles_.look_again();
  reply(Json{{"loading", true}});
}

void Session::code_actions(const Json& params, Reply reply) {
  Answer list = session::code_actions(known(), params);
  if (!list) return reply(std::move(list));
  marks_.add_actions(params, *list);
  what_helps_.add_actions(params, *list);
  advising_.add_actions(params, std::move(*list), std::move(reply));
}

// What keeps the machine from other work that is timed.
std::string Session::busy() const {
  if (profiling_.running()) return "A profiling run is in progress.";
  if (what_helps_.running()) return "What would help is being replayed.";
  return predicting_.running() ? "A prediction is in progress." : "";
}

void Session::profile(const Json& argument, Reply reply) {
  const Reader reader(argument);
  ProfileArguments asked = read_profile_arguments(reader);
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (asked.saved) return on_save_.saved(std::move(asked), std::move(reply));
  profiling_.profile(std::move(asked), std::move(reply));
}

Answer Session::cancel(const Json& argument) {
  on_save_.forget();
  if (!profiling_.running() && (verifying_.cancel() || what_helps_.cancel())) return Json{{"cancelled", true}};
  return profiling_.cancel(argument);
}

Answer Session::change_unit(const Json& argument) {
  const Reader reader(argument);
  features::HintUnit& unit = workspace_.settings.hints_unit;
  std::optional<features::HintUnit> wanted = features::after(unit);
  if (const auto named = reader.maybe("unit")) {
    wanted = features::unit_named(named->string());
    if (!wanted) named->fail("time, share, memory or throughput");
  }
  if (auto error = reader.error()) return std::unexpected(*error);
  unit = *wanted;
  client_.refresh_hints();
  return Json{{"unit", features::name(unit)}};
}

std::vector<fs::path> Session::silenced_lists() const {
  std::vector<fs::path> lists;
  for (const fs::path& bundle : shown_bundles()) lists.push_back(advice::silenced_of(bundle));
  for (const fs::path& folder : workspace_.folders) lists.push_back(advice::silenced_in(folder));
  return lists;
}

std::optional<Silencing::Entry> Session::place_to_silence(const std::string& profile, const std::string& kind,
                                                          std::optional<std::uint32_t> line) const {
  const auto advice = advising_.find(profile, kind);
  if (!advice) return marks_.find(profile, kind, line);
  return Silencing::Entry{advice::silenced_of(advice->bundle), advice::place_to_silence(*advice)};
}

void Session::predict(const Json& argument, Reply reply) {
  if (profiling_.running()) return reply(not_started("A profiling run is in progress."));
  if (verifying_.running()) return reply(not_started("A change is being verified."));
  if (what_helps_.running()) return reply(not_started("What would help is being replayed."));
  predicting_.predict(argument, std::move(reply));
}

// As a document shows it, else as the workspace does.
Session::Shown Session::shown_with(const std::string& profile) const {
  for (const auto& [uri, document] : workspace_.documents) {
    if (document.profile() && document.profile()->id == profile) return {.uri = uri, .profile = document.profile()};
  }
  const ProfileStore::Shared current = current_profile();
  return current && current->id == profile ? Shown{.uri = "", .profile = current} : Shown{};
}

// Why none can be started now; empty: it can.
std::string Session::no_prediction(const Shown& shown) const {
  if (!workspace_.trusted) return "The workspace is not trusted: a prediction runs what its profile names.";
  if (verifying_.running()) return "A change is being verified.";
  if (const std::string why = busy(); !why.empty()) return why;
  return shown.profile ? "" : "The editor shows another profile. Show this one there first.";
}

Predictions Session::predictions_for(const std::string& profile) const {
  const Shown shown = shown_with(profile);
  return {.known = predicting_.of(profile),
          .running = predicting_.running(),
          .refused = no_prediction(shown),
          .failed = shown.profile ? predicting_.failure_of(shown.profile->folder) : ""};
}

void Session::predict_for(const std::string& profile, Reply reply) {
  const Shown shown = shown_with(profile);
  if (const std::string why = no_prediction(shown); !why.empty()) return reply(not_started(why));
  predicting_.predict(shown.uri.empty() ? Json::object() : Json{{"uri", shown.uri}}, std::move(reply));
}

std::string Session::plan_state(const std::string& profile) const {
  if (what_helps_.plans()) return "running";
  return no_prediction(shown_with(profile)).empty() ? "offered" : "none";
}

void Session::plan_for(const std::string& profile, Reply reply) {
  const Shown shown = shown_with(profile);
  if (const std::string why = no_prediction(shown); !why.empty()) return reply(not_started(why));
  what_helps_.plan(*shown.profile, std::move(reply));
}

}  // namespace hotlens::session
