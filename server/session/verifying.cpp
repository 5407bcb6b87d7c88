#include "server/session/verifying.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "annotator/advice/pairs.h"
#include "annotator/common/format.h"
#include "protocol/json.h"
#include "protocol/reader.h"
#include "server/features/format.h"
#include "server/session/profiling.h"

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

std::string outcome(const std::string& title, const lab::Verdict& verdict) {
  std::string words = title;
  if (verdict.faster) words += " is verified: ";
  if (!verdict.faster) words += verdict.slower ? " makes the script slower: " : " makes no certain change: ";
  words += lab::spelled(verdict) + ".";
  if (const std::string_view losses = lab::losses_words(verdict); !losses.empty()) words += " T" + std::string(losses.substr(1)) + ".";
  if (!verdict.faster) words += " It is not recommended any more.";
  return words;
}

}  // namespace

Json Verifying::refused(const std::string& why) {
  client_.show(MessageType::warning, why);
  return not_started(why);
}

std::string Verifying::why_not() const {
  if (!workspace_.trusted) return "The workspace is not trusted: verifying runs its code. Trust the workspace and verify again.";
  return active_ ? "A change is being verified." : events_.busy();
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
  std::error_code error;
  std::vector<std::string> argv{fs::read_symlink("/proc/self/exe", error).string(),
                                "whatif",
                                of.change.kind,
                                "--verify",
                                "--profile",
                                of.bundle.string(),
                                "--limit",
                                std::to_string(limit_for(of.verification->least)),
                                "--format",
                                "json"};
  if (!python.empty()) argv.insert(argv.end(), {"--python", python});
  active_.emplace();
  active_->id = ++last_;
  active_->title = of.change.title;
  active_->progress =
      std::make_unique<ProgressReport>(client_, loop_, "hotlens-verify-" + std::to_string(last_), "Verifying " + active_->title);
  const auto on_strand = [this, id = last_](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (active_ && active_->id == id) (this->*handler)(*active_, value);
      });
    };
  };
  // <root>/.hotlens/profiles/<id>: an environment is looked for where the run was.
  active_->run = runs::start({.argv = std::move(argv), .cwd = of.bundle.parent_path().parent_path().parent_path()},
                             {.output = on_strand(&Verifying::on_output), .end = on_strand(&Verifying::on_end)});
  events_.changed();
}

void Verifying::on_output(Active& active, const runs::OutputLine& line) {
  if (!line.is_error) {
    active.answer += line.text + '\n';
    return;
  }
  constexpr std::string_view kSpeaker = "hotlens: ";
  active.said = line.text.starts_with(kSpeaker) ? line.text.substr(kSpeaker.size()) : line.text;
  client_.log(features::plain(active.said));
  active.progress->report(active.said, 100 * pair_of(active.said).value_or(0) / static_cast<int>(advice::kMostPairs));
}

void Verifying::on_end(Active& active, const runs::RunEnd& end) {
  const bool done = !end.error && !active.cancelled && !active.answer.empty();
  if (done) tell(active);
  if (!done && !active.cancelled) {
    const std::string why = end.error ? end.error->message : active.said;
    client_.show(MessageType::warning,
                 active.title + " is not verified: " + (why.empty() ? "hotlens whatif ended without a reason." : why));
  }
  active.progress->end(active.cancelled ? "Cancelled." : done ? "Done." : "Failed.");
  active_.reset();
  events_.changed();
}

void Verifying::tell(const Active& active) {
  const Answer answer = read_answer(active.answer);
  if (!answer.verdict) return client_.show(MessageType::warning, active.title + " is not verified: " + answer.reason + ".");
  const bool good = answer.verdict->faster && answer.verdict->losses != "differ";
  client_.show(good ? MessageType::info : MessageType::warning, outcome(active.title, *answer.verdict));
}

bool Verifying::cancel() {
  if (!active_) return false;
  active_->cancelled = true;
  if (active_->run) active_->run->cancel(kCancelGrace);
  return true;
}

void Verifying::cancel_progress(const Json& params) {
  if (active_ && active_->progress->is_named_by(params)) cancel();
}

void Verifying::end() {
  if (active_) active_->run.reset();
}

}  // namespace hotlens::session
