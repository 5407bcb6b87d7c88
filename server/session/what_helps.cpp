#include "server/session/what_helps.h"

#include <algorithm>
#include <utility>

#include "annotator/advice/suggestion.h"
#include "annotator/lab/whatif/outcome.h"
#include "protocol/json.h"
#include "protocol/messages.h"
#include "protocol/reader.h"
#include "server/features/format.h"
#include "server/session/convert.h"
#include "server/session/profiling.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

// No quick fix: it changes nothing, and takes its time.
constexpr const char* kKind = "hotlens.whatIf";
constexpr const char* kTitle = "What would help here?";

std::optional<lab::Ratio> ratio_of(const Json& item) {
  const auto number = [&](const char* key) { return item.contains(key) && item[key].is_number(); };
  if (!number("ratio") || !number("low") || !number("high")) return std::nullopt;
  return lab::Ratio{item["ratio"].get<double>(), item["low"].get<double>(), item["high"].get<double>()};
}

}  // namespace

std::string told(const std::string& answer) {
  const auto json = protocol::parse_json(answer);
  if (!json || !json->is_object()) return "hotlens whatif ended without a result.";
  const Reader reader(*json);
  std::string words;
  std::size_t shown = 0;
  for (const Reader& item : reader["items"].items()) {
    const auto time = ratio_of(item.json());
    if (!time || !advice::promises(*time) || shown++ >= advice::kMostShown) continue;
    words += (words.empty() ? "What would help: " : "; ") + item["title"].string() + " " + lab::spelled(*time);
  }
  if (shown > 0) return words + ". Apply and Verify are code actions at the lines.";
  for (const Reader& warning : reader["warnings"].items()) return "No change promises a gain: " + warning["message"].string() + ".";
  return "None of the changes that were replayed promises a faster step.";
}

Json WhatHelps::refused(const std::string& why) {
  client_.show(MessageType::warning, why);
  return not_started(why);
}

void WhatHelps::ask(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  const auto named = reader.maybe("uri");
  const std::string uri = named ? named->string() : "";
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!workspace_.trusted) return reply(refused("The workspace is not trusted: a replay runs what its profile names."));
  if (active_) return reply(refused("What would help is being replayed."));
  if (const std::string why = events_.busy(); !why.empty()) return reply(refused(why));
  const auto shown = events_.shown(uri);
  if (!shown || shown->folder.empty()) return reply(refused("There is no recorded step to replay. Profile the script first."));
  start(shown->folder);
  reply(Json{{"started", true}});
}

void WhatHelps::add_action(const Json& params, Json& list) const {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (reader.error() || !list.is_array() || !wants_kind(reader, kKind) || !client_.can.action_literals) return;
  const Document* document = workspace_.documents.find(uri);
  if (document == nullptr || !document->in_step() || active_ || !workspace_.trusted) return;
  if (!document->profile() || document->profile()->folder.empty()) return;
  const Json command{{"title", kTitle}, {"command", protocol::command::kWhatIf}, {"arguments", {{{"uri", uri}}}}};
  list.push_back({{"title", kTitle}, {"kind", kKind}, {"command", command}});
}

void WhatHelps::start(const fs::path& bundle) {
  std::error_code error;
  std::vector<std::string> argv{
      fs::read_symlink("/proc/self/exe", error).string(), "whatif", "--profile", bundle.string(), "--format", "json"};
  if (!workspace_.settings.python.empty()) argv.insert(argv.end(), {"--python", workspace_.settings.python});
  active_.emplace();
  active_->id = ++last_;
  active_->progress = std::make_unique<ProgressReport>(client_, loop_, "hotlens-whatif-" + std::to_string(last_), "What would help");
  const auto on_strand = [this, id = last_](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (active_ && active_->id == id) (this->*handler)(*active_, value);
      });
    };
  };
  // <root>/.hotlens/profiles/<id>: an environment is looked for where the run was.
  active_->run = runs::start({.argv = std::move(argv), .cwd = bundle.parent_path().parent_path().parent_path()},
                             {.output = on_strand(&WhatHelps::on_output), .end = on_strand(&WhatHelps::on_end)});
  events_.changed();
}

void WhatHelps::on_output(Active& active, const runs::OutputLine& line) {
  if (!line.is_error) {
    active.answer += line.text + '\n';
    return;
  }
  constexpr std::string_view kSpeaker = "hotlens: ";
  active.said = line.text.starts_with(kSpeaker) ? line.text.substr(kSpeaker.size()) : line.text;
  active.progress->report(active.said, 0);
}

void WhatHelps::on_end(Active& active, const runs::RunEnd& end) {
  const bool done = end.exit_code == 0 && !active.cancelled;
  if (done) client_.show(MessageType::info, features::plain(told(active.answer)));
  if (!done && !active.cancelled) {
    const std::string why = end.error ? end.error->message : active.said;
    client_.show(MessageType::warning, "What would help is not known: " + (why.empty() ? "hotlens whatif ended without a reason." : why));
  }
  active.progress->end(active.cancelled ? "Cancelled." : done ? "Done." : "Failed.");
  active_.reset();
  events_.changed();
}

bool WhatHelps::cancel() {
  if (!active_) return false;
  active_->cancelled = true;
  if (active_->run) active_->run->cancel(kCancelGrace);
  return true;
}

void WhatHelps::cancel_progress(const Json& params) {
  if (active_ && active_->progress->is_named_by(params)) cancel();
}

void WhatHelps::end() {
  if (active_) active_->run.reset();
}

}  // namespace hotlens::session
