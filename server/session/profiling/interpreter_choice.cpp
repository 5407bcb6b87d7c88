#include "server/session/profiling/interpreter_choice.h"

#include <optional>

#include "protocol/reader.h"
#include "server/runs/configurations.h"
#include "server/runs/workspace_state.h"
#include "server/session/client/choice_dialog.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;

constexpr const char* kChoose = "interpreter";
constexpr const char* kNoChoice = "As the editor finds it";

// An entry of runs.json that names its interpreter: nothing else would be used.
bool stands_in_runs(const Target& target) {
  return target.configured && !target.configured->of_vscode && !target.configured->python.empty();
}

// As a person would write it: relative to the workspace folder within it.
std::string spelled(const fs::path& python, const fs::path& folder) {
  const fs::path relative = python.lexically_relative(folder);
  const bool inside = !relative.empty() && *relative.begin() != "..";
  return inside ? relative.string() : python.string();
}

bool can_have_none(const Target& target) {
  return !target.python.empty() && !stands_in_runs(target);
}

Json choices_json(const Target& target, const std::vector<runs::Interpreter>& interpreters) {
  const std::string now = stands_in_runs(target) ? target.configured->python : target.python;
  Json list = Json::array();
  for (const runs::Interpreter& each : interpreters) {
    const std::string label = spelled(each.path, target.folder);
    const std::string detail = each.torch.empty() ? "no PyTorch seen" : "PyTorch " + each.torch;
    list.push_back({{"label", label}, {"detail", detail}, {"file", ""}, {"chosen", label == now || each.path == now}});
  }
  if (can_have_none(target))
    list.push_back({{"label", kNoChoice}, {"detail", "the choice is taken back"}, {"file", ""}, {"chosen", false}});
  return list;
}

}  // namespace

void InterpreterChoice::unfit(const ProfileArguments& asked, const std::string& message) {
  client_.ask(MessageType::error, message, {{"Choose interpreter…", kChoose}},
              [this, asked](const std::string&) { find(asked, nobody(), [this, asked](const Found& found) { ask(asked, found); }); });
}

void InterpreterChoice::choose(const Json& argument, Reply reply) {
  const Reader reader(argument);
  ProfileArguments asked = read_profile_arguments(reader);
  const auto given = reader.maybe("interpreter");
  const std::optional<std::string> python = given ? std::optional(given->string()) : std::nullopt;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const auto held = std::make_shared<Reply>(std::move(reply));
  find(asked, held, [this, asked, python, held](const Found& found) {
    if (python) return keep(asked, found.target, *python, held);
    (*held)(Json{{"started", false}, {"asked", true}});
    ask(asked, found);
  });
}

// `reply` gets the reason where there is no script, or none that may be run.
void InterpreterChoice::find(const ProfileArguments& asked, const Held& reply, std::function<void(const Found&)> then) {
  if (!profiling_.allowed()) return (*reply)(not_started(kUntrusted));
  auto look = [input = profiling_.input_for(asked)]() -> Result<Found> {
    auto target = target_of(input);
    if (!target) return std::unexpected(target.error());
    std::vector<fs::path> folders = input.folders;
    for (const fs::path& folder : {target->start, target->folder}) folders.insert(folders.begin(), folder);
    return Found{*std::move(target), runs::find_interpreters(folders, input.asked.interpreters, runs::process_environment())};
  };
  loop_.work(std::move(look), [this, reply, then = std::move(then)](const Result<Found>& found) {
    if (found) return then(*found);
    client_.show(MessageType::error, found.error().message);
    (*reply)(not_started(found.error().message));
  });
}

void InterpreterChoice::ask(const ProfileArguments& asked, const Found& found) {
  const Json choices = choices_json(found.target, found.interpreters);
  const std::string title = "Python for " + found.target.name();
  if (choices.empty()) {
    return client_.show(MessageType::error, "No Python was found in the workspace or on PATH. Set hotlens.python to the interpreter.");
  }
  auto chosen = [this, asked, found](std::size_t index) {
    const bool none = index == found.interpreters.size();
    keep(asked, found.target, none ? "" : found.interpreters[index].path.string(), nobody());
  };
  const std::string remembered = "The choice is remembered for this folder";
  ask_for_choice(client_, {.title = title, .message = remembered, .words = title + ". " + remembered + ".", .choices = choices},
                 std::move(chosen));
}

// An empty one takes the choice back. The script is profiled with what was kept.
void InterpreterChoice::keep(ProfileArguments asked, const Target& target, const std::string& python, const Held& reply) {
  auto write = [target, python]() -> Result<void> {
    const std::string text = python.empty() ? "" : spelled(python, target.folder);
    if (stands_in_runs(target)) {
      return runs::store_python(target.folder, {.script = target.script, .module = target.module, .name = target.configured->name}, text);
    }
    return runs::change_workspace_state(target.folder, [&](runs::WorkspaceState& state) { state.python = text; });
  };
  asked.script = target.script.string();  // the same one, whatever is looked at by then
  if (target.configured) asked.configuration = target.configured->label();
  loop_.work(std::move(write), [this, asked = std::move(asked), reply](const Result<void>& kept) {
    if (!kept) {
      client_.show(MessageType::error, kept.error().message);
      return (*reply)(not_started(kept.error().message));
    }
    stored_();
    profiling_.profile(asked, std::move(*reply));
  });
}

}  // namespace hotlens::session
