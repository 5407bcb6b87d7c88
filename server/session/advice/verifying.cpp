#include "server/session/advice/verifying.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "annotator/advice/pairs.h"
#include "annotator/common/format.h"
#include "protocol/json.h"
#include "protocol/reader.h"
#include "server/features/words/format.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

// Of `hotlens whatif --verify`: what takes longer is asked about first.
constexpr std::chrono::minutes kUsualLimit{15};

// Enough for the fewest pairs.
std::int64_t limit_for(Ns least) {
  return std::max<std::int64_t>(kUsualLimit.count(), std::chrono::ceil<std::chrono::minutes>(least).count() + 1);
}

// What the child prints (annotator/report/FORMATS.md): the outcome, or why there is none.
struct Answer {
  std::optional<lab::Verdict> verdict;
  std::string reason;
};

Answer read_answer(const std::string& text) {
  const auto json = protocol::parse_json(text);
  if (!json) return {.verdict = {}, .reason = "hotlens whatif ended without a result"};
  const Reader answer(*json);
  for (const Reader& item : answer["items"].items()) {
    const Reader verified = item["verified"];
    const auto number = [&](const char* key) { return verified[key].json().is_number() ? verified[key].json().get<double>() : 1.0; };
    lab::Verdict verdict{.pairs = verified["pairs"].unsigned32(),
                         .time = {number("ratio"), number("low"), number("high")},
                         .faster = verified["faster"].boolean(),
                         .slower = number("low") > 1,
                         .losses = verified["losses"].string()};
    if (!answer.error()) return {.verdict = std::move(verdict), .reason = {}};
  }
  for (const Reader& refusal : answer["refused"].items()) return {.verdict = {}, .reason = refusal["reason"].string()};
  return {.verdict = {}, .reason = "hotlens whatif ended without a result"};
}

// "pair 4: …" → 4
std::optional<int> pair_of(std::string_view said) {
  constexpr std::string_view kPair = "pair ";
  int number = 0;
  if (!said.starts_with(kPair)) return std::nullopt;
  said.remove_prefix(kPair.size());
  return std::from_chars(said.data(), said.data() + said.size(), number).ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::string outcome(const lab::WhatIf& change, const lab::Verdict& verdict) {
  std::string words = change.title;
  if (verdict.faster) words += " is verified: ";
  if (!verdict.faster) words += verdict.slower ? " makes the script slower: " : " makes no certain change: ";
  words += lab::spelled(verdict) + ".";
  if (const std::string_view losses = lab::losses_words(verdict); !losses.empty()) words += " T" + std::string(losses.substr(1)) + ".";
  if (!verdict.faster && (verdict.slower || !advice::frees_memory(change))) words += " It is not recommended any more.";
  return words;
}

}  // namespace

Json Verifying::refused(const std::string& why) {
  client_.show(MessageType::warning, why);
  return not_started(why);
}

std::string Verifying::why_not() const {
  if (!workspace_.trusted) return "The workspace is not trusted: verifying runs its code. Trust the workspace and verify again.";
  return child_.running() ? "A change is being verified." : events_.busy();
}

void Verifying::verify(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  const auto kind = reader.maybe("kind"), profile = reader.maybe("profile"), given = reader.maybe("python");
  const std::string wanted = kind ? kind->string() : "", of = profile ? profile->string() : "";
  const std::string python = given ? given->string() : workspace_.settings.python;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (const std::string why = why_not(); !why.empty()) return reply(refused(why));
  const std::optional<advice::Suggestion> found = events_.find(of, wanted);
  if (!found) return reply(refused("No such change is recommended now. Take Verify from the code actions of its hint."));
  if (!found->verification) return reply(refused(found->change.title + " cannot be verified: " + found->verification.error() + "."));
  if (found->verification->least > kUsualLimit) {
    reply(Json{{"started", false}, {"asked", true}});
    return ask(*found, python);
  }
  start(*found, python);
  reply(Json{{"started", true}});
}

void Verifying::ask(const advice::Suggestion& of, const std::string& python) {
  const std::string limit = std::to_string(limit_for(of.verification->least));
  const std::string words = "Verifying " + of.change.title + " takes " + format::readable(of.verification->least) +
                            " at least. In a terminal: hotlens whatif " + of.change.kind + " --verify --limit " + limit;
  client_.ask(MessageType::info, words, {{"Verify", "verify"}}, [this, of, python](const std::string&) {
    const std::string why = why_not();
    if (!why.empty()) return client_.show(MessageType::warning, why);
    start(of, python);
  });
}

void Verifying::start(const advice::Suggestion& of, const std::string& python) {
  const std::string limit = std::to_string(limit_for(of.verification->least));
  child_.start({.words = {"whatif", of.change.kind, "--verify", "--profile", of.bundle.string(), "--limit", limit, "--format", "json"},
                .bundle = of.bundle,
                .python = python,
                .name = "verify",
                .title = "Verifying " + of.change.title},
               {.said =
                    [this](const std::string& said) {
                      client_.log(features::plain(said));
                      return 100 * pair_of(said).value_or(0) / static_cast<int>(advice::kMostPairs);
                    },
                .ended = [this, change = of.change](const ChildVerb::Outcome& outcome) { return ended(change, outcome); },
                .changed = events_.changed});
}

bool Verifying::ended(const lab::WhatIf& change, const ChildVerb::Outcome& outcome) {
  const bool done = !outcome.end.error && !outcome.cancelled && !outcome.answer.empty();
  if (done) tell(change, outcome.answer);
  if (!done && !outcome.cancelled) client_.show(MessageType::warning, change.title + " is not verified: " + outcome.why);
  return done;
}

void Verifying::tell(const lab::WhatIf& change, const std::string& text) {
  const Answer answer = read_answer(text);
  if (!answer.verdict) return client_.show(MessageType::warning, change.title + " is not verified: " + answer.reason + ".");
  const bool good = answer.verdict->faster && answer.verdict->losses != "differ";
  client_.show(good ? MessageType::info : MessageType::warning, outcome(change, *answer.verdict));
}

}  // namespace hotlens::session
