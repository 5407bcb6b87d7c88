// What another batch size or an edited source would cost, from replays of the recorded step: none of the user's code runs.
#include <unistd.h>

#include <charconv>
#include <iostream>
#include <tuple>

#include "annotator/advice/devices/bracket.h"
#include "annotator/common/harmless.h"
#include "annotator/lab/predict/kept.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/cli/verbs.h"
#include "server/lab/batch_sizes.h"
#include "server/lab/edited.h"
#include "server/runs/device_rows.h"
#include "server/runs/discovery.h"
#include "server/runs/kept_files.h"

namespace hotlens::cli {
namespace {

// "16,32,64"; each once.
Result<std::vector<std::int64_t>> sizes(const std::string& text) {
  std::vector<std::int64_t> read;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, size);
    if (error != std::errc{} || stop != text.data() + end || size <= 0) {
      return std::unexpected(Error{ErrorCode::usage, "--batch-size takes whole numbers above 0, such as 16,32, not " + text, {}});
    }
    if (std::ranges::find(read, size) == read.end()) read.push_back(size);
    at = end + 1;
  }
  return read;
}

template <class Predicted>
int show(const Result<Predicted>& predicted, const PredictOptions& options) {
  if (!predicted) return fail(predicted.error());
  std::cout << (options.format == OutputFormat::json ? lab::as_json(*predicted) + '\n'
                                                     : lab::as_text(*predicted, use_colour(STDOUT_FILENO)));
  return kDone;
}

// Another device, from what both reach at their best.
Result<devices::Bracket> on_device(const PredictOptions& options, const std::filesystem::path& path) {
  const auto folder = runs::device_folder(runs::process_environment());
  if (!folder) return std::unexpected(folder.error());
  auto annotated = profile::annotate(path);
  if (!annotated) return std::unexpected(annotated.error());
  const auto profile = profile::profile_of(*annotated);
  const std::string recorded = profile->devices.empty() ? std::string() : profile->devices.back().name;
  if (options.recorded_on.empty() && recorded.empty()) {
    return std::unexpected(Error{ErrorCode::usage, "the recording does not name its device; name its measurement with --recorded-on", {}});
  }
  const auto here = runs::find_row(options.recorded_on.empty() ? recorded : options.recorded_on, *folder);
  if (!here) return std::unexpected(here.error());
  const auto there = runs::find_row(options.device, *folder);
  if (!there) return std::unexpected(there.error());
  return devices::bracket(*annotated, *profile, *here, *there);
}

// Beside what is known of other sizes already. A bundle that cannot be written to is as it was, and the answer is printed all the same.
void keep(const lab::BatchSizes& predicted, const std::filesystem::path& bundle) {
  const auto before = lab::read_kept_batch_sizes(bundle, predicted.profile);
  const lab::BatchSizes all = before ? lab::joined(predicted, *before) : predicted;
  std::ignore = runs::write_whole(lab::kept_batch_sizes(bundle), lab::as_json(all) + '\n');
}

int show_device(const PredictOptions& options, const std::filesystem::path& path) {
  const auto found = on_device(options, path);
  if (!found) return fail(found.error());
  std::cout << (options.format == OutputFormat::json ? devices::as_json(*found) + '\n' : devices::as_text(*found));
  return kDone;
}

}  // namespace

int predict(const PredictOptions& options) {
  if (options.edited + !options.batch_sizes.empty() + !options.device.empty() != 1) {
    return fail(Error{ErrorCode::usage, "predict takes one of --batch-size N, --edited and --device NAME", {}});
  }
  const auto batches = options.batch_sizes.empty() ? std::vector<std::int64_t>() : sizes(options.batch_sizes);
  if (!batches) return fail(batches.error());
  const std::filesystem::path here = std::filesystem::current_path();
  const auto bundle = profile::resolve(options.profile, here);
  if (!bundle) return fail(bundle.error());
  if (!options.device.empty()) return show_device(options, *bundle);
  const auto python = runs::find_python(options.python, here, runs::process_environment());
  if (!python) return fail(python.error());
  const auto say = [](const std::string& what) { std::cerr << "hotlens: " << harmless(what) << std::endl; };
  if (!options.edited) {
    lab::Ask ask{.bundle = *bundle, .batches = *batches, .memory = std::nullopt, .python = python->path, .quick = false, .say = say};
    if (options.memory > 0) ask.memory = Bytes{static_cast<std::int64_t>(options.memory)};
    const auto predicted = lab::predict_batch_sizes(ask);
    if (predicted) keep(*predicted, *bundle);
    return show(predicted, options);
  }
  lab::EditedAsk ask{.bundle = *bundle,
                     .files = {},
                     .drafts = {},
                     .quick = options.quick,
                     .checked = options.checked,
                     .python = python->path,
                     .say = say,
                     .first = [&](const lab::EditedStep& step) {
                       show<lab::EditedStep>(step, options);
                       std::cout.flush();
                     }};
  for (const std::string& pair : options.drafts) {
    const std::size_t between = pair.rfind('=');
    if (between == std::string::npos) return fail(Error{ErrorCode::usage, "--with takes FILE=DRAFT, not " + pair, {}});
    std::error_code error;
    ask.drafts[std::filesystem::weakly_canonical(here / pair.substr(0, between), error)] = here / pair.substr(between + 1);
  }
  for (const std::string& file : options.files) {
    std::error_code error;
    ask.files.push_back(std::filesystem::weakly_canonical(here / file, error));
  }
  return show(lab::predict_edited(ask), options);
}

}  // namespace hotlens::cli
