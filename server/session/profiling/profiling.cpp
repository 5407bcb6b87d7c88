#include "server/session/profiling/profiling.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protocol/reader.h"
#include "protocol/uri.h"
#include "server/session/profiling/sentences.h"

namespace hotlens::session {
namespace {

using protocol::Json;
using protocol::Reader;
using protocol::RpcError;

// Before the answer to shutdown nothing waits for the child; this is what it gets to put its files away.
constexpr std::chrono::milliseconds kShutdownGrace{200};
// A step may take long: the time that it takes is told meanwhile.
constexpr std::chrono::milliseconds kTellEvery{1000};
// Of the script's output that goes to the client's log; the rest is only counted.
constexpr std::size_t kMaxLogLines = 200;
constexpr std::size_t kMaxLogLineBytes = 500;

// Long ones would fill the message.
constexpr std::size_t kTitleBytes = 60;

std::string shortened(std::string text) {
  if (text.size() <= kTitleBytes) return text;
  std::size_t end = kTitleBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

ProfileArguments read_profile_arguments(const Reader& reader) {
  ProfileArguments asked;
  if (const auto script = reader.maybe("script")) asked.script = script->string();
  if (const auto python = reader.maybe("python")) asked.python = python->string();
  if (const auto uri = reader.maybe("uri")) asked.uri = uri->string();
  if (const auto sizes = reader.maybe("batchSizes")) asked.batch_sizes = sizes->string();
  if (const auto vary = reader.maybe("vary")) {
    for (const Reader& each : vary->items()) asked.vary.push_back(each.string());
  }
  if (const auto known = reader.maybe("interpreters")) {
    for (const Reader& each : known->items()) asked.interpreters.push_back(each.string());
  }
  if (const auto name = reader.maybe("configuration")) asked.configuration = name->string();
  if (const auto saved = reader.maybe("saved")) asked.saved = saved->boolean();
  if (const auto args = reader.maybe("args")) {
    asked.args.emplace();
    for (const Reader& arg : args->items()) asked.args->push_back(arg.string());
  }
  return asked;
}

Json not_started(const std::string& message) {
  return {{"started", false}, {"message", message}};
}

Profiling::Profiling(Loop& loop, Client& client, Workspace& workspace, Events events)
    : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)), marks_(client, workspace), output_(client, loop) {}

std::optional<std::int64_t> Profiling::running() const {
  return run_ ? std::optional(run_->id) : std::nullopt;
}

PlanInput Profiling::input_for(ProfileArguments asked) const {
  PlanInput input{.asked = std::move(asked), .settings = workspace_.settings, .folders = workspace_.folders, .trusted = workspace_.trusted};
  input.document = protocol::path_of_uri(input.asked.uri).value_or(std::filesystem::path());
  if (const Document* document = workspace_.documents.find(input.asked.uri)) {
    input.document_tree = document->tree();
    input.latest = document->profile();
  }
  if (!input.latest) input.latest = events_.latest(input.document);
  for (const auto& [uri, document] : workspace_.documents) {
    if (document.changed()) input.changed.emplace_back(document.path(), document.text());
  }
  return input;
}

void Profiling::profile(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  ProfileArguments asked = read_profile_arguments(reader);
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  profile(std::move(asked), std::move(reply));
}

bool Profiling::allowed() {
  if (!workspace_.trusted) client_.show(MessageType::warning, kUntrusted);
  return workspace_.trusted;
}

void Profiling::profile(ProfileArguments asked, protocol::Reply reply) {
  if (!allowed()) return reply(not_started(kUntrusted));
  if (run_) return reply(Json{{"started", false}, {"runId", run_->id}, {"message", "A profiling run is in progress."}});
  if (const std::string why = events_.blocked(); !why.empty()) {
    client_.show(MessageType::warning, why);
    return reply(not_started(why));
  }
  run_ = Active{};
  run_->id = ++last_;
  run_->asked = asked;
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  PlanInput input = input_for(std::move(asked));
  run_->first = !input.latest;
  auto plan = [make = events_.plan, input = std::move(input)] { return make(input); };
  loop_.work(std::move(plan), [this, held, id = last_](Result<Plan> made) { planned(id, std::move(made), std::move(*held)); });
}

void Profiling::planned(std::int64_t id, Result<Plan> plan, protocol::Reply reply) {
  if (shut_down_ || !run_ || run_->id != id) return reply(std::unexpected(RpcError{protocol::Code::request_cancelled, "shutting down"}));
  if (!plan || run_->cancelled) return refuse(plan, std::move(reply));
  if (!plan->no_python.empty()) return leave_without_python(plan->no_python, std::move(reply));
  if (plan->undecided) return leave_open(*plan->undecided, std::move(reply));
  marks_.clear();
  message_.clear();
  reply(start(*run_, *plan));
  events_.changed();
}

void Profiling::refuse(const Result<Plan>& plan, protocol::Reply reply) {
  const std::string message = plan ? "Cancelled." : plan.error().message;
  run_.reset();
  if (!plan) {
    message_ = message;
    client_.show(MessageType::error, message);
    events_.refused();
  }
  reply(not_started(message));
}

void Profiling::leave_without_python(const std::string& why, protocol::Reply reply) {
  const ProfileArguments asked = run_->asked;
  run_.reset();
  message_ = why;
  events_.refused();
  reply(not_started(why));
  events_.python_unfit(asked, why);
}

// Nothing runs before the person has chosen.
void Profiling::leave_open(const Target& target, protocol::Reply reply) {
  const ProfileArguments asked = run_->asked;
  run_.reset();
  events_.refused();
  reply(Json{{"started", false}, {"asked", true}});
  events_.undecided(asked, target);
}

Json Profiling::start(Active& run, const Plan& plan) {
  const std::string command_line = runs::quoted(plan.command);
  run.name = plan.script.empty() ? command_line : plan.script.filename().string();
  run.script = plan.script;
  run.arguments_line = plan.arguments_line;
  client_.log("Profiling in " + plan.request.cwd.string() + ": " + runs::quoted(plan.request.argv));
  if (!plan.unsaved.empty() && !run.asked.saved) client_.show(MessageType::info, unsaved_words(plan.unsaved));
  run.progress =
      std::make_unique<ProgressReport>(client_, loop_, "hotlens-run-" + std::to_string(run.id), "Profiling " + shortened(command_line));
  output_.begin(command_line);
  run.began = std::chrono::steady_clock::now();
  run.run = runs::start(plan.request, observer(run));
  Json started{{"started", true}, {"runId", run.id}, {"command", plan.request.argv}};
  if (!plan.script.empty()) started["script"] = plan.script.string();
  return started;
}

runs::Observer Profiling::observer(Active& run) {
  const auto on_strand = [this, id = run.id](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (run_ && run_->id == id) (this->*handler)(*run_, value);
      });
    };
  };
  runs::Observer observer{.progress = on_strand(&Profiling::on_progress), .end = on_strand(&Profiling::on_end)};
  if (!client_.can.output) {
    observer.output = on_strand(&Profiling::on_output);
    return observer;
  }
  observer.written = [this, id = run.id](std::string_view bytes, bool is_error) {
    loop_.post([this, id, text = std::string(bytes), is_error] {
      if (run_ && run_->id == id) output_.write(text, is_error);
    });
  };
  return observer;
}

void Profiling::on_progress(Active& run, const runs::Progress& progress) {
  if (run.cancelled || progress.phase == runs::Phase::failed) return;
  if (!run.trains && progress.phase != runs::Phase::start) run.trains = std::chrono::steady_clock::now();
  auto [words, percent] = progress_words(progress);
  run.words = std::move(words);
  run.percent = std::max(run.percent, percent);
  tell_time(run);
}

void Profiling::tell_time(Active& run) {
  const auto now = std::chrono::steady_clock::now();
  const auto since = [&](auto then) { return std::chrono::duration_cast<std::chrono::seconds>(now - then); };
  run.progress->report(timed_words(run.words, since(run.began), run.trains.transform(since), run.percent), run.percent);
  run.tick = loop_.after(kTellEvery, [this, id = run.id] {
    if (run_ && run_->id == id && !run_->cancelled && !run_->reading) tell_time(*run_);
  });
}

void Profiling::on_output(Active& run, const runs::OutputLine& line) {
  ++run.lines;
  if (run.lines <= kMaxLogLines) client_.log(line.text.substr(0, kMaxLogLineBytes));
  if (run.lines == kMaxLogLines) client_.log("(further output of the script is not shown)");
}

protocol::Answer Profiling::cancel(const Json& argument) {
  const Reader reader(argument);
  std::optional<std::int64_t> id;
  if (const auto wanted = reader.maybe("runId")) id = wanted->integer();
  if (auto error = reader.error()) return std::unexpected(*error);
  if (!run_ || run_->reading || (id && *id != run_->id)) return Json{{"cancelled", false}};
  run_->cancelled = true;
  if (run_->run) run_->run->cancel(kCancelGrace);
  return Json{{"cancelled", true}};
}

void Profiling::cancel_progress(const Json& params) {
  if (run_ && run_->progress && run_->progress->is_named_by(params)) std::ignore = cancel(Json());
}

void Profiling::on_end(Active& run, const runs::RunEnd& end) {
  if (run.cancelled) return finish("Cancelled.");
  if (!end.bundle) return fail(run, end);
  run.reading = true;
  run.tick = {};
  run.progress->report("Reading the profile", 97);
  events_.recorded(*end.bundle);
}

void Profiling::fail(Active& run, const runs::RunEnd& end) {
  message_ = failure_words(run.name, end);
  if (end.failure) marks_.put(*end.failure, message_);
  if (const ProfileArguments asked = run.asked; python_unfit(end)) {
    finish("Failed.");
    return events_.python_unfit(asked, message_);
  }
  if (!refused_arguments(end)) {
    client_.show(MessageType::error, message_);
    return finish("Failed.");
  }
  if (!run.script.empty()) marks_.put({.file = run.script, .line = run.arguments_line}, message_);
  const ProfileArguments asked = run.asked;
  finish("Failed.");
  events_.arguments_refused(asked, message_);
}

void Profiling::went_on() {
  if (run_) run_->first = false;
}

void Profiling::bundle_unreadable(const std::string& why) {
  message_ = why;
  if (run_ && run_->reading) run_->unread = "The profile cannot be read.";
}

void Profiling::bundle_read() {
  if (!run_ || !run_->reading) return;
  if (!run_->unread.empty()) return finish(run_->unread);
  const std::string name = run_->name, uri = run_->asked.uri;
  const bool asked = !run_->asked.saved, first = run_->first;
  finish("The hints are new.");
  if (asked) events_.finished(name, uri, first);
}

void Profiling::finish(const std::string& said) {
  output_.end(message_.empty() ? said : message_);
  run_->progress->end(said);
  run_.reset();
  events_.changed();
}

void Profiling::shut_down() {
  shut_down_ = true;
  if (!run_) return;
  if (run_->progress) run_->progress->end("Stopped: the editor closes.");
  if (run_->run) run_->run->cancel(kShutdownGrace);
}

void Profiling::end() {
  if (run_) run_->run.reset();
}

}  // namespace hotlens::session
