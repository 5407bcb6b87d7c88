// Measured peaks of this device: products, convolutions, copies, with the torch of the environment.
#include <fstream>
#include <iostream>

#include "annotator/common/harmless.h"
#include "server/cli/verbs.h"
#include "server/runs/device_rows.h"
#include "server/runs/run.h"

namespace hotlens::cli {
namespace {

struct Measured {
  std::string text;
  devices::Row row;
};

Result<Measured> measure(const std::string& setting) {
  const std::filesystem::path here = std::filesystem::current_path();
  const auto python = runs::find_python(setting, here, runs::process_environment());
  if (!python) return std::unexpected(python.error());
  const auto recorder = runs::find_recorder();
  if (!recorder) return std::unexpected(recorder.error());
  std::string text, words;
  const runs::RunEnd end =
      runs::run_blocking({.argv = {python->path.string(), (*recorder / "__main__.py").string(), "peaks"}, .cwd = here},
                         {.output = [&](const runs::OutputLine& line) { (line.is_error ? words : text) = line.text; }});
  if (end.exit_code != 0) {
    return std::unexpected(
        Error{ErrorCode::failed, "nothing was measured: " + (words.empty() ? "torch did not run" : words), python->path.string()});
  }
  auto row = devices::parse(text, "the measurement");
  if (!row) return std::unexpected(row.error());
  return Measured{std::move(text), std::move(*row)};
}

}  // namespace

int bench_device(const BenchDeviceOptions& options) {
  std::cerr << "hotlens: measuring, about five seconds" << std::endl;
  const auto measured = measure(options.python);
  if (!measured) return fail(measured.error());
  if (!options.out.empty()) {
    std::ofstream file(options.out, std::ios::binary);
    file << measured->text << '\n';
    file.close();
    if (!file) return fail({ErrorCode::unreadable, options.out.string() + " cannot be written", options.out.string()});
  }
  const auto folder = runs::device_folder(runs::process_environment());
  const auto kept = folder ? runs::keep_row(measured->row, measured->text, *folder) : std::unexpected(folder.error());
  if (!kept) std::cerr << "hotlens: " << harmless(kept.error().message) << '\n';
  std::cout << (options.format == OutputFormat::json ? measured->text + '\n' : devices::as_text(measured->row));
  return kDone;
}

}  // namespace hotlens::cli
