#include "server/lab/sweep.h"

#include <fmt/format.h>

#include "annotator/common/file.h"
#include "annotator/profile/bundle/bundle.h"
#include "server/lab/verify.h"
#include "server/runs/discovery.h"
#include "server/runs/run.h"
#include "server/runs/scratch.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kMostTrialBytes = std::size_t{1} << 20;

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

Result<sweep::Trial> try_sweep(const SweepAsk& ask) {
  const auto manifest = profile::read_manifest(ask.bundle);
  if (!manifest) return std::unexpected(manifest.error());
  if (const auto again = verification_time(ask.bundle); !again) {
    return std::unexpected(Error{again.error().code, "it cannot be tried: " + again.error().message, {}});
  }
  const auto recorder = runs::find_recorder();
  if (!recorder) return std::unexpected(recorder.error());
  const runs::Scratch scratch("sweep");
  if (scratch.path().empty()) return std::unexpected(Error{ErrorCode::failed, "no temporary folder could be made", {}});
  const std::filesystem::path result = scratch.path() / "result.json";
  std::vector<std::string> argv{
      ask.python.string(), (*recorder / "__main__.py").string(), "sweep", "--result", result.string(), "--models", listed(ask.models),
      "--limit",           std::to_string(ask.limit.count()),    "--"};
  argv.insert(argv.end(), manifest->argv.begin(), manifest->argv.end());
  const auto heard = [&](const runs::OutputLine& line) {
    constexpr std::string_view kOurs = "hotlens: ";
    if (line.is_error && line.text.starts_with(kOurs)) ask.say(line.text.substr(kOurs.size()));
  };
  const runs::RunEnd end = runs::run_blocking({.argv = std::move(argv), .cwd = manifest->cwd}, {.output = heard});
  if (end.error) return std::unexpected(*end.error);
  if (end.cancelled) return std::unexpected(Error{ErrorCode::cancelled, "stopped", {}});
  const auto text = read_file(result, kMostTrialBytes);
  if (!text) return std::unexpected(Error{ErrorCode::failed, runs::how_ended(end), {}});
  return sweep::read_trial(*text);
}

}  // namespace hotlens::lab
