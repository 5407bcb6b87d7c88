#include "annotator/ranks/read.h"
#include "annotator/report/export/csv.h"
#include "annotator/report/export/json.h"
#include "annotator/report/export/parquet.h"
#include "annotator/report/export/perfetto.h"
#include "annotator/report/export/speedscope.h"

#include <fstream>
#include <functional>
#include <iostream>

#include "annotator/common/harmless.h"
#include "server/cli/verbs.h"

namespace hotlens::cli {
namespace {

using Write = std::function<Result<void>(std::ostream&)>;

Error cannot_write(const std::filesystem::path& file) {
  return {ErrorCode::unreadable, file.string() + " cannot be written; check the folder, its permissions and the free space", file.string()};
}

// Under a temporary name first: a reader never sees half a file.
Result<void> write_file(const std::filesystem::path& file, const Write& write) {
  const std::filesystem::path partial = file.string() + ".partial";
  std::ofstream out(partial, std::ios::binary);
  if (!out) return std::unexpected(cannot_write(file));
  Result<void> written = write(out);
  out.close();
  std::error_code error;
  if (written && out) std::filesystem::rename(partial, file, error);
  if (!written || !out || error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    return written ? std::unexpected(cannot_write(file)) : written;
  }
  return {};
}

void say_issues(const profile::Annotated& annotated) {
  for (const Issue& issue : annotated.issues.items()) std::cerr << "hotlens: " << harmless(issue.message) << '\n';
}

Write writer_for(const std::string& format, profile::Annotated annotated) {
  if (format == "perfetto" || format == "speedscope") {
    const auto shared = std::make_shared<const profile::Annotated>(std::move(annotated));
    if (format == "perfetto") return [shared](std::ostream& out) { return report::export_perfetto(*shared, out); };
    return [shared](std::ostream& out) -> Result<void> { return report::export_speedscope(*shared, out), Result<void>{}; };
  }
  const auto profile = profile::profile_of(annotated);
  if (format == "csv") return [profile](std::ostream& out) -> Result<void> { return report::export_csv(*profile, out), Result<void>{}; };
  const std::vector<Ns> plain_steps = annotated.manifest ? annotated.manifest->plain_steps : std::vector<Ns>{};
  return
      [profile, plain_steps](std::ostream& out) -> Result<void> { return report::export_json(*profile, plain_steps, out), Result<void>{}; };
}

// Every rank that is named, one after the other.
Result<void> export_parquet(const std::vector<ranks::Source>& sources, std::ostream& out) {
  report::ParquetExport file(out);
  for (std::size_t at = 0; at < sources.size(); ++at) {
    const auto annotated = profile::annotate(sources[at].path, sources[at].rank);
    if (!annotated) return std::unexpected(annotated.error());
    say_issues(*annotated);
    const std::int64_t recorded = annotated->trace.recording.rank.value_or(static_cast<std::int64_t>(at));
    file.add(*annotated, sources[at].rank.value_or(recorded));
  }
  file.finish();
  return {};
}

int done(const Result<void>& written) {
  return written ? kDone : fail(written.error());
}

}  // namespace

int export_profile(const ExportOptions& options) {
  const std::vector<std::string> latest{"latest"};
  const auto sources = ranks::sources(options.profiles.empty() ? latest : options.profiles, std::filesystem::current_path());
  if (!sources) return fail(sources.error());
  if (options.to == "parquet") {
    if (options.file.empty()) return fail({ErrorCode::usage, "a parquet file is no text: name a file with --output", {}});
    return done(write_file(options.file, [&](std::ostream& out) { return export_parquet(*sources, out); }));
  }
  const auto one = ranks::one_of(*sources, std::nullopt);
  if (!one) return fail(one.error());
  Result<profile::Annotated> annotated = profile::annotate(one->path, one->rank);
  if (!annotated) return fail(annotated.error());
  say_issues(*annotated);
  const Write write = writer_for(options.to, std::move(*annotated));
  return done(options.file.empty() ? write(std::cout) : write_file(options.file, write));
}

}  // namespace hotlens::cli
