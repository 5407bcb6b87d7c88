// What another batch size would cost, from replays of the recorded step: none of the user's code runs.
#include <unistd.h>

#include <charconv>
#include <iostream>

#include "annotator/common/harmless.h"
#include "annotator/profile/bundle/resolve.h"
#include "server/cli/verbs.h"
#include "server/lab/batch_sizes.h"
#include "server/runs/discovery.h"

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

}  // namespace

int predict(const PredictOptions& options) {
  const auto batches = sizes(options.batch_sizes);
  if (!batches) return fail(batches.error());
  const std::filesystem::path here = std::filesystem::current_path();
  const auto bundle = profile::resolve(options.profile, here);
  if (!bundle) return fail(bundle.error());
  const auto python = runs::find_python(options.python, here, runs::process_environment());
  if (!python) return fail(python.error());
  const auto predicted =
      lab::predict_batch_sizes({.bundle = *bundle, .batches = *batches, .python = python->path, .say = [](const std::string& what) {
                                  std::cerr << "hotlens: " << harmless(what) << std::endl;
                                }});
  if (!predicted) return fail(predicted.error());
  std::cout << (options.format == OutputFormat::json ? lab::as_json(*predicted) + '\n'
                                                     : lab::as_text(*predicted, use_colour(STDOUT_FILENO)));
  return kDone;
}

}  // namespace hotlens::cli
