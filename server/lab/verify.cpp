#include "server/lab/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "annotator/common/file.h"
#include "annotator/common/format.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/spread.h"
#include "server/runs/discovery.h"
#include "server/runs/run.h"
#include "server/runs/scratch.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kWarmup = 5, kLeastSteps = 10, kMostSteps = 200;
constexpr Ns kForSteps = 3s;                // of one run
constexpr Ns kUnknownStartup = 10s;         // where the profile does not tell it
constexpr Ns kMuchLonger = 1s;              // of a start; less is the machine's
constexpr std::chrono::seconds kSlack{60};  // a run that takes so much longer than ten times what is expected hangs
constexpr auto kGrace = 2s;
// Of a run that somebody stopped: they wait. It is looked at that often.
constexpr auto kStoppedGrace = 200ms, kLookEvery = 50ms;
constexpr std::size_t kMostTimesBytes = std::size_t{1} << 20;

struct Timed {
  Ns step{}, startup{};
  std::vector<double> losses;
};

Error failed(std::string message) {
  return {ErrorCode::failed, std::move(message), {}};
}

Error refused(std::string message) {
  return {ErrorCode::unsupported, std::move(message), {}};
}

Result<Timed> read_times(const fs::path& file, const runs::RunEnd& end) {
  const auto text = read_file(file, kMostTimesBytes);
  if (!text) return std::unexpected(failed(runs::how_ended(end)));
  try {
    const json document = json::parse(*text);
    std::vector<Ns> steps;
    for (const json& step : document.at("steps_ns")) steps.emplace_back(step.get<std::int64_t>());
    if (steps.empty())
      return std::unexpected(failed(fmt::format("the script makes fewer than {} updates, too few to be timed", kWarmup + 2)));
    Timed timed{.step = profile::sample(steps).median, .losses = {}};
    if (document.contains("startup_ns") && document["startup_ns"].is_number_integer()) {
      timed.startup = Ns{document["startup_ns"].get<std::int64_t>()};
    }
    for (const json& loss : document.at("losses")) timed.losses.push_back(std::strtod(loss.get<std::string>().c_str(), nullptr));
    return timed;
  } catch (const json::exception&) {
    return std::unexpected(failed("the times of a run are broken"));
  }
}

// What is expected of one run.
struct Expected {
  int steps = kLeastSteps;
  Ns run{};
  advice::Duration all() const {
    return {2 * static_cast<std::int64_t>(advice::kLeastPairs) * run, 2 * static_cast<std::int64_t>(advice::kMostPairs) * run};
  }
};

Expected expected_of(const fs::path& bundle, const profile::Manifest& manifest) {
  std::optional<profile::Loop> loop;
  if (auto read = profile::read_loop(bundle, manifest, 0); !manifest.loop.empty() && read) loop = std::move(*read);
  const Ns step = profile::plain_step(manifest, loop ? &*loop : nullptr).value_or(Ns{100ms});
  const auto steps = static_cast<int>(std::clamp<std::int64_t>(kForSteps / std::max(step, Ns{1}), kLeastSteps, kMostSteps));
  return {.steps = steps, .run = (loop && loop->startup > Ns{} ? loop->startup : kUnknownStartup) + (kWarmup + steps) * step};
}

class Verification {
 public:
  Verification(const VerifyAsk& ask, profile::Manifest manifest, fs::path recorder)
      : ask_(ask), manifest_(std::move(manifest)), recorder_(std::move(recorder)), expected_(expected_of(ask.bundle, manifest_)) {}

  Result<Verified> run() {
    if (scratch_.path().empty()) return std::unexpected(failed("no temporary folder could be made"));
    for (std::size_t at = 0; at < ask_.texts.size(); ++at) std::ofstream(text_file(at), std::ios::binary) << ask_.texts[at].second;
    const auto [least, most] = expected_.all();
    ask_.say(fmt::format("the script runs in pairs, before and after the change: {} to {} pairs, {} to {} all together; nothing is written",
                         advice::kLeastPairs, advice::kMostPairs, format::readable(least), format::readable(most)));
    if (least > ask_.limit) {
      return std::unexpected(refused(fmt::format("verifying takes about {} at least, and the limit is {}; set another with --limit MINUTES",
                                                 format::readable(least), format::readable(Ns{ask_.limit}))));
    }
    const Clock::time_point begin = Clock::now();
    while (!advice::enough(pairs_)) {
      if (pairs_.size() >= advice::kLeastPairs && Clock::now() - begin > ask_.limit) break;
      if (const auto done = pair(); !done) return std::unexpected(done.error());
    }
    const auto measured = advice::measured(pairs_);
    if (!measured) return std::unexpected(failed("the runs' times tell nothing"));
    const auto losses = ask_.losses_within ? advice::compared(before_, after_, *ask_.losses_within) : advice::Losses::unknown;
    return Verified{.measured = *measured, .losses = losses, .before = pairs_.front().before, .longer = longer_};
  }

 private:
  fs::path text_file(std::size_t at) const { return scratch_.path() / std::to_string(at); }

  // Every second pair the other way round.
  Result<void> pair() {
    const bool changed_first = pairs_.size() % 2 == 1;
    auto first = once(changed_first);
    if (!first) return std::unexpected(first.error());
    auto second = once(!changed_first);
    if (!second) return std::unexpected(second.error());
    if (changed_first) std::swap(*first, *second);
    const Ns longer = second->startup - first->startup;
    const bool told = first->startup > Ns{} && second->startup > Ns{};
    if (pairs_.empty() && told && longer > kMuchLonger) longer_ = longer;
    pairs_.push_back({.before = first->step, .after = second->step});
    before_.push_back(std::move(first->losses));
    after_ = std::move(second->losses);
    ask_.say(fmt::format("pair {}: {} before, {} after", pairs_.size(), format::readable(first->step), format::readable(second->step)));
    return {};
  }

  Result<Timed> once(bool changed) {
    const fs::path result = scratch_.path() / "result.json";
    std::error_code error;
    fs::remove(result, error);
    std::vector<std::string> argv{ask_.python.string(),
                                  (recorder_ / "__main__.py").string(),
                                  "time",
                                  "--result",
                                  result.string(),
                                  "--warmup",
                                  std::to_string(kWarmup),
                                  "--steps",
                                  std::to_string(expected_.steps)};
    for (std::size_t at = 0; changed && at < ask_.texts.size(); ++at) {
      argv.push_back("--with=" + ask_.texts[at].first.string() + "=" + text_file(at).string());
    }
    argv.emplace_back("--");
    argv.insert(argv.end(), manifest_.argv.begin(), manifest_.argv.end());
    std::promise<runs::RunEnd> ended;
    auto end = ended.get_future();
    runs::Run run = runs::start(
        {.argv = std::move(argv), .cwd = manifest_.cwd, .environment = changed ? ask_.environment : decltype(ask_.environment){}},
        {.end = [&](const runs::RunEnd& how) { ended.set_value(how); }});
    const Clock::time_point late = Clock::now() + 10 * expected_.run + kSlack + ask_.startup;
    while (end.wait_for(kLookEvery) != std::future_status::ready) {
      const bool stopped = ask_.stopped();
      if (!stopped && Clock::now() < late) continue;
      run.cancel(stopped ? std::chrono::milliseconds(kStoppedGrace) : kGrace);
      end.wait();
      return std::unexpected(failed(stopped ? "stopped" : "a run takes much longer than the profile's; it was stopped"));
    }
    const runs::RunEnd how = end.get();
    if (how.error) return std::unexpected(*how.error);
    auto timed = read_times(result, how);
    if (!timed && changed) timed.error().message += " (with the change)";
    return timed;
  }

  const VerifyAsk& ask_;
  profile::Manifest manifest_;
  fs::path recorder_;
  runs::Scratch scratch_{"verify"};
  Expected expected_;
  std::vector<advice::Pair> pairs_;
  Ns longer_{};
  std::vector<std::vector<double>> before_;
  std::vector<double> after_;
};

std::optional<std::string> why_not_again(const profile::Manifest& manifest) {
  constexpr std::string_view kHidden = "***", kLauncher = "torch.distributed.";
  const auto has = [&](std::string_view part) {
    return std::ranges::any_of(manifest.argv, [&](const std::string& word) { return word.contains(part); });
  };
  if (manifest.argv.empty() || manifest.cwd.empty()) return "the profile does not say how the script was run";
  if (has(kHidden)) return "the script was run with a secret, which the profile does not keep";
  if (has(kLauncher) || fs::path(manifest.argv.front()).filename() == "torchrun" || manifest.traces.size() > 1) {
    return "several processes train together";
  }
  return std::nullopt;
}

}  // namespace

Result<advice::Duration> verification_time(const fs::path& bundle) {
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  if (const auto reason = why_not_again(*manifest)) return std::unexpected(refused(*reason));
  return expected_of(bundle, *manifest).all();
}

Result<Verified> verify(const VerifyAsk& ask) {
  auto manifest = profile::read_manifest(ask.bundle);
  if (!manifest) return std::unexpected(manifest.error());
  if (const auto reason = why_not_again(*manifest)) return std::unexpected(refused("it cannot be verified: " + *reason));
  auto recorder = runs::find_recorder();
  if (!recorder) return std::unexpected(recorder.error());
  return Verification(ask, std::move(*manifest), std::move(*recorder)).run();
}

}  // namespace hotlens::lab
