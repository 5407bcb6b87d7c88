// Profiling on request: one run at a time, with progress, cancel, and a place in the code when it fails.
#include <algorithm>
#include <array>
#include <utility>

#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/session/convert.h"
#include "server/session/session.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;

// From "cancel" to SIGKILL: the client is promised an end within a second.
constexpr std::chrono::milliseconds kCancelGrace{700};
// Of the script's output that goes to the client's log; the rest is only counted.
constexpr std::size_t kMaxLogLines = 200;
constexpr std::size_t kMaxLogLineBytes = 500;

struct Stretch {
  runs::Phase phase;
  int begin, end;  // percent of the run
  const char* what;
};
constexpr std::array kStretches{Stretch{runs::Phase::start, 0, 5, "Starting"},
                                Stretch{runs::Phase::warmup, 5, 25, "Warm-up"},
                                Stretch{runs::Phase::plain, 25, 40, "Plain steps"},
                                Stretch{runs::Phase::measured, 40, 60, "Measured steps"},
                                Stretch{runs::Phase::map, 60, 85, "Mapping modules to code"},
                                Stretch{runs::Phase::write, 85, 95, "Writing the profile"},
                                Stretch{runs::Phase::done, 95, 97, "Reading the profile"}};

std::pair<std::string, int> described(const runs::Progress& progress) {
  const auto* stretch = std::ranges::find(kStretches, progress.phase, &Stretch::phase);
  if (stretch == kStretches.end()) return {progress.message, 0};
  const double part = progress.of > 0 ? std::clamp(static_cast<double>(progress.step) / static_cast<double>(progress.of), 0.0, 1.0) : 0.0;
  std::string text = stretch->what;
  if (progress.of > 0) text += " " + std::to_string(progress.step) + " of " + std::to_string(progress.of);
  return {text, stretch->begin + static_cast<int>(part * (stretch->end - stretch->begin))};
}

// A virtual environment may lie in the workspace.
bool is_installed(const std::filesystem::path& file) {
  return std::ranges::any_of(file, [](const std::filesystem::path& part) { return part == "site-packages" || part == "dist-packages"; });
}

std::string ended_sentence(const std::string& name, const runs::RunEnd& end) {
  std::string text = name;
  if (end.signal) {
    text += " was ended by signal " + std::to_string(*end.signal);
  } else if (end.exit_code.value_or(0) == 0) {
    text += " ended before a training step was measured";
  } else {
    text += " ended with exit code " + std::to_string(end.exit_code.value_or(0));
  }
  text += ". Nothing was recorded.";
  if (!end.tail.empty()) text += " Its last line was: " + end.tail.back();
  return text;
}

std::string failure_sentence(const std::string& name, const runs::Failure& failure) {
  if (failure.type.empty() && !failure.sentence.empty()) return failure.sentence;
  std::string text = name;
  text.append(" failed: ").append(failure.type);
  if (!failure.message.empty()) text.append(failure.type.empty() ? "" : ": ").append(failure.message);
  return text;
}

}  // namespace

void Session::execute_command(const Json& params, Reply reply) {
  const Reader reader(params);
  const std::string command = reader["command"].string();
  Json argument;
  if (const auto arguments = reader.maybe("arguments")) {
    if (const auto items = arguments->items(); !items.empty()) argument = items.front().json();
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!argument.is_null() && !argument.is_object()) {
    return reply(std::unexpected(protocol::RpcError{protocol::Code::invalid_params, "expected an object at /arguments/0"}));
  }
  if (command == protocol::command::kProfile) return profile(argument, std::move(reply));
  if (command == protocol::command::kCancel) return reply(cancel(argument));
  if (command == protocol::command::kReload) {
    store_.look_again();
    return reply(Json{{"loading", true}});
  }
  if (command == protocol::command::kOpenTimeline) return open_timeline(argument, std::move(reply));
  reply(std::unexpected(protocol::RpcError{protocol::Code::invalid_params, "no such command: " + command}));
}

void Session::profile(const Json& argument, Reply reply) {
  const Reader reader(argument);
  ProfileArguments asked;
  if (const auto script = reader.maybe("script")) asked.script = script->string();
  if (const auto python = reader.maybe("python")) asked.python = python->string();
  if (const auto uri = reader.maybe("uri")) asked.uri = uri->string();
  if (const auto args = reader.maybe("args")) {
    asked.args.emplace();
    for (const Reader& arg : args->items()) asked.args->push_back(arg.string());
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!trusted_) {
    const std::string message = "The workspace is not trusted: profiling runs its code. Trust the workspace and profile again.";
    client_.show(MessageType::warning, message);
    return reply(Json{{"started", false}, {"message", message}});
  }
  if (run_) return reply(Json{{"started", false}, {"runId", run_->id}, {"message", "A profiling run is in progress."}});

  PlanInput input{.asked = std::move(asked), .settings = settings_, .folders = folders_};
  input.document = protocol::path_of_uri(input.asked.uri).value_or(std::filesystem::path());
  if (const Document* document = documents_.find(input.asked.uri)) {
    input.document_tree = document->tree();
    input.latest = document->profile();
  }
  if (const auto candidates = store_.candidates(input.document); !input.latest && !candidates.empty()) input.latest = candidates.front();
  for (const auto& [uri, document] : documents_) {
    if (document.changed()) input.changed.emplace_back(document.path(), document.text());
  }
  run_.emplace();
  run_->id = next_run_++;
  auto held = std::make_shared<Reply>(std::move(reply));
  auto plan = [input = std::move(input)] { return plan_run(input, runs::process_environment(), runs::find_recorder()); };
  loop_.work(std::move(plan), [this, held](Result<Plan> made) { start_run(std::move(made), std::move(*held)); });
}

void Session::start_run(Result<Plan> plan, Reply reply) {
  if (life_ != Life::running || !run_)
    return reply(std::unexpected(protocol::RpcError{protocol::Code::request_cancelled, "shutting down"}));
  ActiveRun& run = *run_;
  if (!plan || run.cancelled) {
    const std::string message = plan ? "Cancelled." : plan.error().message;
    run_.reset();
    if (!plan) {
      last_message_ = message;
      client_.show(MessageType::error, message);
      tell_profile_state();
    }
    return reply(Json{{"started", false}, {"message", message}});
  }
  clear_failure();
  last_message_.clear();
  const std::string command_line = runs::quoted(plan->command);
  run.name = plan->script.empty() ? command_line : plan->script.filename().string();
  client_.log("Profiling in " + plan->request.cwd.string() + ": " + runs::quoted(plan->request.argv));
  if (!plan->unsaved.empty()) {
    std::string names;
    for (const std::string& file : plan->unsaved) names.append(names.empty() ? "" : ", ").append(file);
    client_.show(MessageType::info, names + (plan->unsaved.size() == 1 ? " has" : " have") +
                                        " unsaved changes. The run uses what is on disk; save and profile again to include them.");
  }
  const std::string token = "hotlens-run-" + std::to_string(run.id);
  run.progress = std::make_unique<ProgressReport>(client_, loop_, token, "Profiling " + run.name);
  const auto id = run.id;
  const auto on_strand = [this, id](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (run_ && run_->id == id) (this->*handler)(*run_, value);
      });
    };
  };
  run.run = runs::start(plan->request, {.progress = on_strand(&Session::on_run_progress),
                                        .output = on_strand(&Session::on_run_output),
                                        .end = on_strand(&Session::on_run_end)});
  Json started{{"started", true}, {"runId", id}, {"command", plan->request.argv}};
  if (!plan->script.empty()) started["script"] = plan->script.string();
  reply(std::move(started));
  run_changed();
}

void Session::on_run_progress(ActiveRun& run, const runs::Progress& progress) {
  if (run.cancelled || progress.phase == runs::Phase::failed) return;
  auto [text, percent] = described(progress);
  run.progress->report(std::move(text), percent);
}

void Session::on_run_output(ActiveRun& run, const runs::OutputLine& line) {
  ++run.lines;
  if (run.lines <= kMaxLogLines) client_.log(line.text.substr(0, kMaxLogLineBytes));
  if (run.lines == kMaxLogLines) client_.log("(further output of the script is not shown)");
}

Session::Answer Session::cancel(const Json& argument) {
  const Reader reader(argument);
  std::optional<std::int64_t> id;
  if (const auto wanted = reader.maybe("runId")) id = wanted->integer();
  if (auto error = reader.error()) return std::unexpected(*error);
  if (!run_ || run_->reading || (id && *id != run_->id)) return Json{{"cancelled", false}};
  run_->cancelled = true;
  if (run_->run) run_->run->cancel(kCancelGrace);
  return Json{{"cancelled", true}};
}

void Session::cancel_progress(const Json& params) {
  const auto token = params.is_object() ? params.find("token") : params.end();
  const bool ours = run_ && run_->progress && params.is_object() && token != params.end() && *token == run_->progress->token();
  if (ours) std::ignore = cancel(Json());
}

void Session::on_run_end(ActiveRun& run, const runs::RunEnd& end) {
  if (end.bundle && !run.cancelled) {
    run.reading = true;
    run.progress->report("Reading the profile", 97);
    run_folders_.insert(end.bundle->parent_path().parent_path().parent_path());
    update_places();
    store_.look_again();
    return;
  }
  if (run.cancelled) return finish_run(run, "Cancelled.");
  fail_run(run, end);
}

void Session::fail_run(ActiveRun& run, const runs::RunEnd& end) {
  std::string message;
  if (end.error) {
    message = end.error->message;
  } else if (end.failure) {
    message = failure_sentence(run.name, *end.failure);
  } else {
    message = ended_sentence(run.name, end);
  }
  last_message_ = message;
  if (end.failure) publish_failure(*end.failure, message);
  client_.show(MessageType::error, message);
  finish_run(run, "Failed.");
}

void Session::finish_run(ActiveRun& run, const std::string& said) {
  run.progress->end(said);
  run_.reset();
  run_changed();
}

// Lenses and actions name what can be done now.
void Session::run_changed() {
  client_.refresh_lenses();
  tell_profile_state();
}

// The innermost place in the user's own files: an error inside a library is rarely the library's.
std::optional<runs::Frame> Session::place_of(const runs::Failure& failure) {
  std::vector<runs::Frame> frames = runs::frames_of(failure.traceback);
  if (!failure.file.empty() && failure.line) frames.push_back({failure.file, *failure.line});
  const auto is_own = [&](const runs::Frame& frame) {
    return documents_.at(frame.file) != nullptr || std::ranges::any_of(folders_, [&](const std::filesystem::path& folder) {
             return std::ranges::mismatch(folder, frame.file).in1 == folder.end() && !is_installed(frame.file);
           });
  };
  const auto own = std::ranges::find_if(frames.rbegin(), frames.rend(), is_own);
  if (own != frames.rend()) return *own;
  if (!failure.file.empty() && failure.line) return frames.back();
  return std::nullopt;
}

void Session::publish_failure(const runs::Failure& failure, const std::string& message) {
  const auto place = place_of(failure);
  if (!place) return;
  const Document* document = documents_.at(place->file.lexically_normal());
  const std::string uri = document != nullptr ? document->uri() : protocol::uri_of_path(place->file);
  // The whole line; a client clamps an end beyond it.
  protocol::Range range{{place->line, 0}, {place->line, 1000}};
  if (document != nullptr && place->line < document->lines().lines()) {
    const std::string_view line = line_text(document->text(), document->lines(), place->line);
    const auto indent = std::min(line.find_first_not_of(" \t"), line.size());
    range.start.character = units(line.substr(0, indent), client_.can.encoding);
    range.end.character = units(line, client_.can.encoding);
  }
  std::string text = failure.type;
  if (!failure.message.empty()) text.append(text.empty() ? "" : ": ").append(failure.message);
  if (text.empty()) text = message;
  const Json diagnostic{{"range", to_json(range)}, {"severity", 1}, {"source", "hotlens"}, {"code", "run-failed"}, {"message", text}};
  client_.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", {diagnostic}}});
  failure_uris_.insert(uri);
}

void Session::end_run() {
  if (run_) run_->run.reset();
}

void Session::clear_failure() {
  for (const std::string& uri : std::exchange(failure_uris_, {})) {
    client_.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
  }
}

}  // namespace hotlens::session
