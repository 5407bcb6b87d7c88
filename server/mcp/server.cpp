#include "server/mcp/server.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "annotator/common/own_program.h"
#include "protocol/reader.h"
#include "server/runs/words.h"
#include "server/session/profiling/sentences.h"

namespace hotlens::mcp {
namespace {

using protocol::Answer;
using protocol::Code;
using protocol::Reader;
using protocol::RpcError;
using session::Output;

// Revisions that begin with `initialize`; the last one is offered to a client that asks for one that is not known.
constexpr std::array<std::string_view, 4> kRevisions{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
constexpr std::string_view kFirstWithQuestions = "2025-06-18";
constexpr auto kResourceNotFound = static_cast<Code>(-32002);
constexpr std::int64_t kUsualSeconds = 600, kMostSeconds = 3600;
constexpr std::chrono::seconds kLastMoment{5};
constexpr std::size_t kMostSizes = 8;
constexpr std::size_t kMostTail = 12;  // lines of a script that failed

constexpr const char* kInstructions =
    "Hotlens measures where a PyTorch training step spends its time and memory. Begin with `report` or `hot_lines`; where there is no "
    "profile yet, `profile` records one. After an edit profile again and call `diff`. Times are nanoseconds of one step; lines count "
    "from 1.";

std::chrono::seconds limit_of(const Json& arguments) {
  const Reader reader(arguments);
  const auto given = reader.maybe("timeout_s");
  return std::chrono::seconds(std::clamp<std::int64_t>(given ? given->integer() : kUsualSeconds, 1, kMostSeconds));
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

// The arguments of the program's own verb.
Result<std::vector<std::string>> lab_command(const Tool& tool, const Json& arguments, const std::filesystem::path& profile) {
  const Reader reader(arguments);
  if (tool.work == Work::predict) {
    std::vector<std::string> sizes;
    for (const Reader& size : reader["batch_sizes"].items()) sizes.push_back(std::to_string(size.integer()));
    if (sizes.empty() || sizes.size() > kMostSizes) reader["batch_sizes"].fail("1 to 8 numbers");
    if (const auto error = reader.error()) return std::unexpected(wrong(*error));
    return std::vector<std::string>{"predict", profile.string(), "--batch-size=" + joined(sizes)};
  }
  std::vector<std::string> kinds;
  if (const auto given = reader.maybe("kinds")) {
    for (const Reader& kind : given->items()) kinds.push_back(kind.string());
  }
  const auto list = reader.maybe("list");
  if (list && list->boolean()) kinds = {"list"};
  if (const auto error = reader.error()) return std::unexpected(wrong(*error));
  std::vector<std::string> command{"whatif", "--profile", profile.string()};
  if (!kinds.empty()) command.insert(command.end(), {"--", joined(kinds)});
  return command;
}

Error failed(const Child::End& end) {
  if (end.run.error) return *end.run.error;
  if (end.late) return {ErrorCode::failed, "It took longer than timeout_s and was stopped.", {}};
  return {ErrorCode::failed, end.said.empty() ? "It ended without a reason." : end.said, {}};
}

Error run_failed(const std::string& name, const Child::End& end) {
  if (end.late) return failed(end);
  std::string message = session::failure_words(name, end.run);
  const auto lines = std::min(end.run.tail.size(), kMostTail);
  for (auto line = end.run.tail.end() - static_cast<std::ptrdiff_t>(lines); line != end.run.tail.end(); ++line) message += "\n" + *line;
  return {ErrorCode::failed, message, {}};
}

std::string name_of(const session::Plan& plan) {
  return plan.script.empty() ? runs::quoted(plan.command) : plan.script.filename().string();
}

}  // namespace

Server::Server(session::Loop& loop, session::Client::Send send, ServerOptions options)
    : loop_(loop), client_(std::move(send)), options_(std::move(options)) {}

void Server::receive(session::Incoming incoming) {
  if (const auto* request = std::get_if<protocol::Request>(&incoming.message)) {
    handle(*request);
  } else if (const auto* notification = std::get_if<protocol::Notification>(&incoming.message)) {
    handle(*notification);
  } else if (auto* rejected = std::get_if<protocol::Rejected>(&incoming.message)) {
    client_.respond(rejected->id, Answer(std::unexpected(std::move(rejected->error))));
  } else {
    client_.on_response(std::move(std::get<protocol::Response>(incoming.message)));
  }
}

void Server::handle(const protocol::Request& request) {
  if (initialized_ && request.method == "tools/call") return call(request.id, request.params);
  if (initialized_ && request.method == "resources/list") return list_resources(request.id);
  if (initialized_ && request.method == "resources/read") return read_resource(request.id, request.params);
  client_.respond(request.id, answer(request.method, request.params));
}

void Server::handle(const protocol::Notification& notification) {
  if (notification.method == "notifications/cancelled") cancelled(notification.params);
}

Answer Server::answer(const std::string& method, const Json& params) {
  static constexpr std::array<std::string_view, 5> kLater{"tools/list", "tools/call", "resources/list", "resources/read",
                                                          "resources/templates/list"};
  if (method == "initialize") return initialize(params);
  if (method == "ping") return Json::object();
  if (!initialized_ && std::ranges::find(kLater, method) != kLater.end()) {
    return std::unexpected(RpcError{Code::invalid_request, "the first request must be `initialize`"});
  }
  if (method == "tools/list") {
    Json all = Json::array();
    for (const Tool& tool : tools()) all.push_back(tool.listed());
    return Json{{"tools", std::move(all)}};
  }
  if (method == "resources/templates/list") {
    return Json{{"resourceTemplates",
                 {{{"uriTemplate", "hotlens://profile/{profile}"},
                   {"name", "profile"},
                   {"title", "Report of a profile"},
                   {"description", "A bundle id, or `latest`."},
                   {"mimeType", "text/plain"}}}}};
  }
  return std::unexpected(RpcError{Code::method_not_found, "no such method: " + method});
}

Answer Server::initialize(const Json& params) {
  const Reader reader(params);
  const std::string asked = reader["protocolVersion"].string();
  if (const auto error = reader.error()) return std::unexpected(*error);
  if (initialized_) return std::unexpected(RpcError{Code::invalid_request, "the server is initialized already"});
  const auto known = std::ranges::find(kRevisions, asked);
  const std::string_view revision = known == kRevisions.end() ? kRevisions.back() : *known;
  const Json elicitation = params.value(Json::json_pointer("/capabilities/elicitation"), Json());
  // An empty object stands for forms, the only way there was at first.
  can_ask_ = revision >= kFirstWithQuestions && elicitation.is_object() && (elicitation.empty() || elicitation.contains("form"));
  initialized_ = true;
  return Json{{"protocolVersion", revision},
              {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
              {"serverInfo", {{"name", "hotlens"}, {"title", "Hotlens"}, {"version", HOTLENS_VERSION}}},
              {"instructions", kInstructions}};
}

void Server::list_resources(const Json& id) {
  ++reading_;
  loop_.work([folder = options_.folder] { return resources(folder); },
             [this, id](Result<Json> list) {
               --reading_;
               if (!list) list = Json{{"resources", Json::array()}};
               client_.respond(id, Answer(std::move(*list)));
               leave_when_idle();
             });
}

void Server::read_resource(const Json& id, const Json& params) {
  const Reader reader(params);
  const std::string uri = reader["uri"].string();
  if (const auto error = reader.error()) return client_.respond(id, Answer(std::unexpected(*error)));
  ++reading_;
  loop_.work([folder = options_.folder, uri] { return resource_text(folder, uri); },
             [this, id, uri](const Result<std::string>& words) {
               --reading_;
               Answer answer = std::unexpected(RpcError{kResourceNotFound, words ? "" : words.error().message, {{"uri", uri}}});
               if (words) answer = Json{{"contents", {{{"uri", uri}, {"mimeType", "text/plain"}, {"text", *words}}}}};
               client_.respond(id, answer);
               leave_when_idle();
             });
}

void Server::call(const Json& id, const Json& params) {
  const Reader reader(params);
  const std::string name = reader["name"].string();
  const auto given = reader.maybe("arguments");
  if (given && !given->json().is_object()) given->fail("an object");
  if (const auto error = reader.error()) return client_.respond(id, Answer(std::unexpected(*error)));
  const Tool* tool = tool_named(name);
  if (tool == nullptr) return client_.respond(id, Answer(std::unexpected(RpcError{Code::invalid_params, "no such tool: " + name})));
  const Json token = params.value(Json::json_pointer("/_meta/progressToken"), Json());
  const Serial serial = ++last_;
  calls_.emplace(serial, Call{.id = id, .token = token, .tool = tool, .child = nullptr});
  const Json arguments = given ? given->json() : Json::object();
  if (const auto fits = check_names(*tool, arguments); !fits) return finish(serial, std::unexpected(fits.error()));
  work(serial, arguments);
}

void Server::cancelled(const Json& params) {
  const auto id = params.is_object() ? params.find("requestId") : params.end();
  if (!params.is_object() || id == params.end()) return;
  std::erase_if(calls_, [&](const auto& each) { return each.second.id == *id; });
}

void Server::work(Serial serial, const Json& arguments) {
  const Tool& tool = *calls_.at(serial).tool;
  if (tool.work == Work::profile) return start_profile(serial, arguments);
  if (tool.work != Work::read) return start_lab(serial, arguments);
  on_pool(
      serial, [folder = options_.folder, answer = tool.answer, arguments] { return answer(folder, arguments); },
      [this, serial](Result<Json> result) { finish(serial, std::move(result)); });
}

// Predictions and what-ifs: replays measure times, so nothing else may run beside them.
void Server::start_lab(Serial serial, const Json& arguments) {
  const Tool& tool = *calls_.at(serial).tool;
  if (busy(serial)) return finish(serial, std::unexpected(Error{ErrorCode::failed, "Another run is in progress. Ask again later.", {}}));
  const std::chrono::seconds limit = limit_of(arguments);
  auto plan = [folder = options_.folder, python = options_.python, &tool, arguments]() -> Result<runs::RunRequest> {
    const auto program = own_program();
    if (!program) return std::unexpected(program.error());
    const Reader reader(arguments);
    const auto named = reader.maybe("profile");
    const auto profile = folder.find_profile(named ? named->string() : "latest");
    if (const auto error = reader.error()) return std::unexpected(wrong(*error));
    if (!profile) return std::unexpected(profile.error());
    const auto command = lab_command(tool, arguments, *profile);
    if (!command) return std::unexpected(command.error());
    runs::RunRequest request{.argv = {program->string(), command->front(), "--format", "json"}, .cwd = folder.root, .environment = {}};
    if (!python.empty()) request.argv.insert(request.argv.end(), {"--python", python});
    request.argv.insert(request.argv.end(), command->begin() + 1, command->end());
    return request;
  };
  on_pool(serial, std::move(plan), [this, serial, limit, &tool](const Result<runs::RunRequest>& request) {
    if (!request) return finish(serial, std::unexpected(request.error()));
    const auto ended = [this, serial, &tool](const Child::End& end) {
      if (end.run.exit_code != 0) return finish(serial, std::unexpected(failed(end)));
      finish(serial, attempt([&] { return tool.work == Work::predict ? predicted(end.output) : what_if(options_.folder, end.output); }));
    };
    find(serial)->child = std::make_unique<Child>(
        loop_, *request, limit,
        Child::Events{
            .progress = [this, serial](const std::string& words, std::optional<int> percent) { report_progress(serial, words, percent); },
            .end = ended});
  });
}

void Server::start_profile(Serial serial, const Json& arguments) {
  if (!options_.allow_run && !can_ask_) {
    return finish(serial, std::unexpected(Error{ErrorCode::usage,
                                                "Profiling runs the project's code, and this client cannot ask the person. They can allow "
                                                "it by starting the server as `hotlens mcp --allow-run`, or run `hotlens run` themselves.",
                                                {}}));
  }
  if (busy(serial)) return finish(serial, std::unexpected(Error{ErrorCode::failed, "Another run is in progress. Ask again later.", {}}));
  const Reader reader(arguments);
  session::PlanInput input{
      .asked = {}, .settings = {}, .folders = {options_.folder.root}, .latest = {}, .document = {}, .document_tree = {}, .changed = {}};
  input.settings.python = options_.python;
  if (const auto script = reader.maybe("script")) input.asked.script = script->string();
  if (const auto name = reader.maybe("configuration")) input.asked.configuration = name->string();
  if (const auto given = reader.maybe("arguments")) {
    input.asked.args.emplace();
    for (const Reader& each : given->items()) input.asked.args->push_back(each.string());
  }
  const std::chrono::seconds limit = limit_of(arguments);
  if (const auto error = reader.error()) return finish(serial, std::unexpected(wrong(*error)));
  auto plan = [folder = options_.folder, input = std::move(input)]() mutable -> Result<session::Plan> {
    if (!input.asked.script.empty()) {
      const auto file = folder.find_file(input.asked.script);
      if (!file) return std::unexpected(file.error());
      input.asked.script = file->string();
    }
    if (auto latest = folder.load("latest")) input.latest = *std::move(latest);
    return session::plan_run(input, runs::process_environment(), runs::find_recorder());
  };
  on_pool(serial, std::move(plan), [this, serial, limit](const Result<session::Plan>& made) {
    if (!made) return finish(serial, std::unexpected(made.error()));
    if (!made->no_python.empty()) return finish(serial, std::unexpected(Error{ErrorCode::not_found, made->no_python, {}}));
    if (made->undecided) {
      const std::string which = session::choice_words(*made->undecided) + " Name one as `configuration`.";
      return finish(serial, std::unexpected(Error{ErrorCode::usage, which, {}}));
    }
    if (options_.allow_run) return run(serial, *made, limit);
    ask_person(serial, *made, limit);
  });
}

// The person sees what will run, and where; nothing else is asked, so the form has no fields.
void Server::ask_person(Serial serial, const session::Plan& plan, std::chrono::seconds limit) {
  const std::string message = "Run " + runs::quoted(plan.command) + " in " + plan.request.cwd.string() + " with " +
                              plan.request.argv.front() + "? Hotlens measures a few training steps and stops it.";
  const Json form{{"type", "object"}, {"properties", Json::object()}};
  client_.request("elicitation/create", {{"message", message}, {"requestedSchema", form}},
                  [this, serial, plan, limit](const Answer& answer) {
                    if (find(serial) == nullptr) return;
                    if (answer && answer->is_object() && answer->value("action", Json()) == "accept") return run(serial, plan, limit);
                    finish(serial, std::unexpected(Error{ErrorCode::cancelled, "The person did not allow the run.", {}}));
                  });
}

void Server::run(Serial serial, const session::Plan& plan, std::chrono::seconds limit) {
  const auto ended = [this, serial, name = name_of(plan)](const Child::End& end) { run_ended(serial, name, end); };
  find(serial)->child = std::make_unique<Child>(
      loop_, plan.request, limit,
      Child::Events{
          .progress = [this, serial](const std::string& words, std::optional<int> percent) { report_progress(serial, words, percent); },
          .end = ended});
}

void Server::run_ended(Serial serial, const std::string& name, const Child::End& end) {
  if (end.late || !end.run.bundle) return finish(serial, std::unexpected(run_failed(name, end)));
  on_pool(
      serial, [folder = options_.folder, bundle = *end.run.bundle] { return profiled(folder, bundle); },
      [this, serial](Result<Json> result) { finish(serial, std::move(result)); });
}

bool Server::busy(Serial serial) const {
  return std::ranges::any_of(calls_, [&](const auto& each) { return each.first != serial && each.second.tool->work != Work::read; });
}

Server::Call* Server::find(Serial serial) {
  const auto found = calls_.find(serial);
  return found == calls_.end() ? nullptr : &found->second;
}

// It has to grow from one to the next, and there may be words without a number.
void Server::report_progress(Serial serial, const std::string& words, std::optional<int> percent) {
  Call* call = find(serial);
  if (call == nullptr || call->token.is_null()) return;
  call->progress = std::max(call->progress + 1, percent.value_or(0));
  Json params{{"progressToken", call->token}, {"progress", call->progress}, {"message", words}};
  if (percent && call->progress <= 100) params["total"] = 100;
  client_.notify("notifications/progress", params, Output::Weight::droppable);
}

void Server::finish(Serial serial, Result<Json> result) {
  const auto found = calls_.extract(serial);
  if (found.empty()) return;
  Json answer{{"isError", !result}};
  const std::string words = result ? protocol::dump_json(*result) : result.error().message;
  answer["content"] = {{{"type", "text"}, {"text", words}}};
  if (result) answer["structuredContent"] = *std::move(result);
  client_.respond(found.mapped().id, Answer(std::move(answer)));
  leave_when_idle();
}

template <class Job, class Then>
void Server::on_pool(Serial serial, Job job, Then then) {
  loop_.work(std::move(job), [this, serial, then = std::move(then)](auto result) {
    if (find(serial) != nullptr) return then(std::move(result));
    leave_when_idle();
  });
}

void Server::input_ended() {
  ended_ = true;
  std::erase_if(calls_, [](const auto& each) { return each.second.tool->work != Work::read; });
  last_moment_ = loop_.after(kLastMoment, [this] { loop_.stop(0); });
  leave_when_idle();
}

void Server::leave_when_idle() {
  if (ended_ && calls_.empty() && reading_ == 0) loop_.stop(0);
}

}  // namespace hotlens::mcp
