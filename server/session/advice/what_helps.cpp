#include "server/session/advice/what_helps.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "annotator/advice/suggestion.h"
#include "annotator/advice/sweep/kept.h"
#include "annotator/lab/whatif/outcome.h"
#include "protocol/json.h"
#include "protocol/messages.h"
#include "protocol/reader.h"
#include "server/features/words/format.h"
#include "server/features/words/suggestions.h"
#include "server/session/documents/convert.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

// No quick fix: it changes nothing, and takes its time.
constexpr const char* kWhatIfKind = "hotlens.whatIf";
constexpr std::size_t kLongestMessage = 400;  // characters: three changes, or a reason
constexpr const char* kTitle = "What would help here?";

std::optional<lab::Ratio> ratio_of(const Json& item) {
  const auto number = [&](const char* key) { return item.contains(key) && item[key].is_number(); };
  if (!number("ratio") || !number("low") || !number("high")) return std::nullopt;
  return lab::Ratio{item["ratio"].get<double>(), item["low"].get<double>(), item["high"].get<double>()};
}

std::int64_t whole(const Json& item, const char* key) {
  return item.contains(key) && item[key].is_number_integer() ? item[key].get<std::int64_t>() : 0;
}

// Empty where it promises nothing.
std::string promise_of(const Reader& item) {
  lab::WhatIf change{.kind = {}, .title = item["title"].string(), .evidence = {}, .assumes = {}, .modules = {}, .parts = {}};
  change.time = ratio_of(item.json());
  change.peak_was = Bytes{whole(item.json(), "peak_was_bytes")};
  change.peak = Bytes{whole(item.json(), "peak_bytes")};
  if (!change.time || (!advice::promises(*change.time) && !advice::frees_memory(change))) return {};
  return features::message(change);
}

// Profiles of a sweep, this one included; 0 where another number is as good.
std::size_t runs_of(const sweep::Seen* seen) {
  constexpr std::size_t kMostModels = 16;  // more take long to measure
  return seen == nullptr || seen->profiles.empty() ? 0 : std::min(seen->profiles.size() + 1, kMostModels);
}

}  // namespace

std::string told(const std::string& answer) {
  const auto json = protocol::parse_json(answer);
  if (!json || !json->is_object()) return "hotlens whatif ended without a result.";
  const Reader reader(*json);
  std::string words;
  std::size_t shown = 0;
  for (const Reader& item : reader["items"].items()) {
    const std::string promise = promise_of(item);
    if (promise.empty() || shown++ >= advice::kMostShown) continue;
    words += (words.empty() ? "What would help: " : "; ") + promise;
  }
  if (shown > 0) return words + ". Apply and Verify are code actions at the lines.";
  for (const Reader& warning : reader["warnings"].items()) return "No change promises a gain: " + warning["message"].string() + ".";
  return "None of the changes that were replayed promises a faster step or less memory.";
}

std::string told_of_plan(const std::string& answer) {
  const auto json = protocol::parse_json(answer);
  if (!json || !json->is_object()) return "hotlens whatif ended without a result.";
  const Reader reader(*json);
  for (const Reader& refusal : reader["refused"].items()) return "No blocks to checkpoint: " + refusal["reason"].string() + ".";
  return "The choices of blocks to checkpoint are replayed: drag the memory budget under Recompute in the timeline.";
}

std::string told_of_sweep(const std::string& answer, const std::string& profile) {
  const auto tried = sweep::tried_in(answer, profile);
  if (!tried) return "hotlens whatif sweep ended without a result.";
  std::string words = sweep::spelled(*tried);
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words + ".";
}

std::string sweep_title(const sweep::Seen& seen) {
  const std::size_t runs = runs_of(&seen);
  return runs > 1 ? "Try these " + std::to_string(runs) + " runs as one" : "Try the runs of this loop as one";
}

Json WhatHelps::refused(const std::string& why) {
  client_.show(MessageType::warning, why);
  return not_started(why);
}

std::expected<std::shared_ptr<const profile::Profile>, Json> WhatHelps::asked_of(const std::string& uri, const std::string& untrusted) {
  if (!workspace_.trusted) return std::unexpected(refused(untrusted));
  if (const std::string why = events_.busy(); !why.empty()) return std::unexpected(refused(why));
  auto shown = events_.shown(uri);
  if (!shown || shown->folder.empty()) {
    return std::unexpected(refused("There is no recorded step to replay. Profile the script first."));
  }
  return shown;
}

void WhatHelps::ask(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  const auto named = reader.maybe("uri");
  const std::string uri = named ? named->string() : "";
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const auto shown = asked_of(uri, "The workspace is not trusted: a replay runs what its profile names.");
  if (!shown) return reply(shown.error());
  start((*shown)->folder, Question::helps);
  reply(Json{{"started", true}});
}

void WhatHelps::try_sweep(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  const auto named = reader.maybe("uri");
  const std::string uri = named ? named->string() : "";
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const auto shown = asked_of(uri, "The workspace is not trusted: trying several models as one runs the script.");
  if (!shown) return reply(shown.error());
  start((*shown)->folder, Question::sweep);
  reply(Json{{"started", true}});
}

void WhatHelps::plan(const profile::Profile& profile, protocol::Reply reply) {
  if (profile.folder.empty()) return reply(refused("There is no recorded step to replay. Profile the script first."));
  start(profile.folder, Question::plan);
  reply(Json{{"started", true}});
}

void WhatHelps::add_actions(const Json& params, Json& list) const {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (reader.error() || !list.is_array() || !wants_kind(reader, kWhatIfKind) || !client_.can.action_literals) return;
  const Document* document = workspace_.documents.find(uri);
  if (document == nullptr || !document->in_step() || child_.running() || !workspace_.trusted) return;
  if (!document->profile() || document->profile()->folder.empty()) return;
  const auto add = [&](const std::string& title, std::string_view command) {
    const Json run{{"title", title}, {"command", command}, {"arguments", {{{"uri", uri}}}}};
    list.push_back({{"title", title}, {"kind", kWhatIfKind}, {"command", run}});
  };
  add(kTitle, protocol::command::kWhatIf);
  const sweep::Seen* seen = events_.sweep(document->profile()->folder);
  if (seen != nullptr && seen->same_shapes) add(sweep_title(*seen), protocol::command::kTrySweep);
}

void WhatHelps::start(const fs::path& bundle, Question question) {
  question_ = question;
  profile_ = bundle.filename().string();
  std::vector<std::string> words{"whatif"};
  std::string title = "What would help";
  if (question == Question::plan) {
    words.emplace_back("checkpoint");
    title = "Which blocks to checkpoint";
  }
  if (question == Question::sweep) {
    words.insert(words.end(), {"sweep", "--try"});
    title = "Several models as one";
    if (const std::size_t runs = runs_of(events_.sweep(bundle)); runs > 1) words.insert(words.end(), {"--models", std::to_string(runs)});
  }
  words.insert(words.end(), {"--profile", bundle.string(), "--format", "json"});
  child_.start(
      {.words = std::move(words), .bundle = bundle, .python = workspace_.settings.python, .name = "whatif", .title = std::move(title)},
      {.said = [](const std::string&) { return 0; },
       .ended = [this](const ChildVerb::Outcome& outcome) { return ended(outcome); },
       .changed = events_.changed});
}

bool WhatHelps::ended(const ChildVerb::Outcome& outcome) {
  const bool done = outcome.end.exit_code == 0 && !outcome.cancelled;
  const auto words = [&] {
    if (question_ == Question::sweep) return told_of_sweep(outcome.answer, profile_);
    return question_ == Question::plan ? told_of_plan(outcome.answer) : told(outcome.answer);
  };
  if (done) client_.show(MessageType::info, features::plain(words(), kLongestMessage));
  const bool tries = question_ == Question::sweep;
  const std::string unknown = tries ? "Several models as one were not measured: " : "What would help is not known: ";
  if (!done && !outcome.cancelled) client_.show(MessageType::warning, unknown + outcome.why);
  return done;
}

}  // namespace hotlens::session
