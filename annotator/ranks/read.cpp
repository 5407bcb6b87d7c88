#include "annotator/ranks/read.h"

#include <glob.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <system_error>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/resolve.h"

namespace hotlens::ranks {
namespace {

namespace fs = std::filesystem;

bool is_trace_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

// A folder of traces is no bundle.
std::vector<Source> traces_in(const fs::path& folder) {
  std::vector<Source> found;
  std::error_code status;
  if (!fs::is_directory(folder, status) || fs::exists(folder / "manifest.json", status)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, status)) {
    if (entry.is_regular_file(status) && is_trace_name(entry.path())) found.push_back({entry.path(), std::nullopt});
  }
  std::ranges::sort(found, {}, &Source::path);
  return found;
}

std::vector<fs::path> matches(const fs::path& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, decltype(&globfree)> owner(&found, &globfree);
  std::vector<fs::path> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) != 0) return paths;
  for (std::size_t at = 0; at < found.gl_pathc; ++at) paths.emplace_back(found.gl_pathv[at]);
  return paths;
}

// A bundle's ranks; of one that cannot be read, or with one rank, the path itself: load() says what is wrong.
std::vector<Source> ranks_of(const fs::path& path) {
  std::error_code status;
  std::vector<Source> found;
  if (!fs::is_directory(path, status)) return {{path, std::nullopt}};
  if (const Result<profile::Manifest> manifest = profile::read_manifest(path); manifest && manifest->traces.size() > 1) {
    for (const profile::RankTrace& trace : manifest->traces) found.push_back({path, trace.rank});
    return found;
  }
  return {{path, std::nullopt}};
}

Result<std::vector<Source>> named(const std::string& reference, const fs::path& from) {
  std::error_code status;
  const fs::path path = fs::path(reference).is_absolute() ? fs::path(reference) : from / reference;
  if (!fs::exists(path, status) && reference.find_first_of("*?[") != std::string::npos) {
    std::vector<Source> found;
    for (const fs::path& match : matches(path)) found.push_back({match, std::nullopt});
    if (!found.empty()) return found;
    return std::unexpected(Error{ErrorCode::not_found, "no file matches this pattern", reference});
  }
  if (std::vector<Source> traces = traces_in(path); !traces.empty()) return traces;
  const Result<fs::path> resolved = profile::resolve(reference, from);
  if (!resolved) return std::unexpected(resolved.error());
  return ranks_of(*resolved);
}

Result<void> check_together(const std::vector<RankRecord>& records, const std::vector<Source>& read) {
  for (std::size_t at = 0; at < records.size(); ++at) {
    const auto same =
        std::ranges::find(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(at), records[at].rank, &RankRecord::rank);
    if (same != records.begin() + static_cast<std::ptrdiff_t>(at)) {
      return std::unexpected(Error{ErrorCode::usage,
                                   "two recordings are of rank " + std::to_string(records[at].rank) + ": " + same->source + " and " +
                                       records[at].source + "; name one file of each rank",
                                   read[at].path.string()});
    }
    if (records[at].world_size != records[0].world_size) {
      return std::unexpected(Error{
          ErrorCode::usage,
          "the recordings are not of one run: " + records[0].source + " and " + records[at].source + " name different numbers of processes",
          read[at].path.string()});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Source>> sources(std::span<const std::string> references, const fs::path& from) {
  std::vector<Source> all;
  for (const std::string& reference : references) {
    Result<std::vector<Source>> found = named(reference, from);
    if (!found) return std::unexpected(found.error());
    all.insert(all.end(), found->begin(), found->end());
  }
  return all;
}

Result<Source> one_of(std::span<const Source> sources, std::optional<std::int64_t> rank) {
  if (!rank) return sources.front();
  if (sources.size() == 1) return Source{sources.front().path, rank};
  for (std::size_t at = 0; at < sources.size(); ++at) {
    if (sources[at].rank == rank) return sources[at];
    if (sources[at].rank) continue;
    Issues issues;
    const Result<trace::Trace> trace = trace::read_file(sources[at].path, issues);
    if (trace && trace->recording.rank.value_or(static_cast<std::int64_t>(at)) == rank) return sources[at];
  }
  return std::unexpected(Error{ErrorCode::usage, "none of the recordings is of rank " + std::to_string(*rank), {}});
}

Result<Ranks> read(std::span<const Source> sources) {
  std::vector<RankRecord> records;
  std::vector<Source> read;
  std::vector<Issue> issues;
  Error last;
  for (const Source& source : sources) {
    const Result<profile::Annotated> annotated = profile::annotate(source.path, source.rank);
    if (!annotated) {
      last = annotated.error();
      issues.push_back({"unreadable-rank", source.path.filename().string() + " was left out: " + last.message, 1});
      continue;
    }
    const std::int64_t recorded = annotated->trace.recording.rank.value_or(static_cast<std::int64_t>(records.size()));
    records.push_back(record_of(*annotated, source.rank.value_or(recorded)));
    read.push_back(source);
  }
  if (records.empty()) return std::unexpected(last);
  if (const Result<void> checked = check_together(records, read); !checked) return std::unexpected(checked.error());
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return records[at].rank; });
  Ranks ranks;
  for (const std::size_t at : order) ranks.sources.push_back(read[at]);
  ranks.set = together(std::move(records));
  ranks.set.issues.insert(ranks.set.issues.end(), issues.begin(), issues.end());
  return ranks;
}

Result<std::size_t> Ranks::position(std::optional<std::int64_t> rank) const {
  if (!rank) return 0;
  const auto at = std::ranges::find(set.ranks, *rank, &RankTotals::rank);
  if (at != set.ranks.end()) return static_cast<std::size_t>(at - set.ranks.begin());
  std::string known;
  for (const RankTotals& one : set.ranks) known += (known.empty() ? "" : ", ") + std::to_string(one.rank);
  return std::unexpected(Error{ErrorCode::usage, "there is no rank " + std::to_string(*rank) + "; the recordings are of " + known, {}});
}

}  // namespace hotlens::ranks
