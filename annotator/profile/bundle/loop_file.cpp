#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/json.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

using namespace json;

constexpr int kLoopSchema = 1;

// A part of `most`; nothing of what is not.
std::optional<Ns> part_of(const Json& object, std::string_view key, Ns most) {
  const std::int64_t value = whole(object, key).value_or(-1);
  return value >= 0 && value <= most.count() ? std::optional(Ns{value}) : std::nullopt;
}

std::string statement_kind(const Json& object) {
  constexpr std::array<std::string_view, 5> kKinds = {"for", "while", "if", "with", "loop"};
  const std::string kind = text(object, "kind");
  return std::ranges::find(kKinds, kind) != kKinds.end() ? kind : "statement";
}

// Three times that do not fall; nothing of anything else.
std::optional<Spread> usual_times(const Json& entry) {
  const std::vector<std::int64_t> times = whole_numbers(entry, "usual_ns");
  if (times.size() != 3 || times.front() < 0 || !std::ranges::is_sorted(times)) return std::nullopt;
  return Spread{.p10 = Ns{times[0]}, .median = Ns{times[1]}, .p90 = Ns{times[2]}};
}

std::optional<LoopStatement> loop_statement(const Json& entry, const Loop& loop, std::size_t files) {
  const auto file = small(entry, "file"), line = small(entry, "line");
  const auto total = part_of(entry, "total_ns", loop.watched), startup = part_of(entry, "startup_ns", loop.startup);
  if (!file || *file >= files || !line || !total || !startup) return std::nullopt;
  const auto count = [&](std::string_view key) { return std::int64_t{small(entry, key).value_or(0)}; };
  const auto update = [&](std::string_view key) { return std::int64_t{small(entry, key).value_or(0)}; };  // of all, watched or not
  LoopStatement statement;
  statement.site.file = FileId{*file};
  statement.site.line = *line;
  statement.site.end_line = std::max(*line, small(entry, "end_line").value_or(*line));
  statement.site.column = small(entry, "column");
  statement.site.function = text(entry, "function");
  statement.kind = statement_kind(entry);
  statement.in_loop = whole(entry, "loop").value_or(-1) >= 0;
  statement.calls = count("calls");
  statement.total = *total;
  // Bundles of earlier versions counted only what was watched.
  statement.timed = part_of(entry, "timed_ns", Ns::max()).value_or(*total);
  statement.in_updates = std::min(count("in_updates"), loop.made);
  statement.in_watched = std::min(count("in_watched"), loop.updates);
  statement.first_update = update("first_update");
  statement.last_update = update("last_update");
  statement.usual = usual_times(entry);
  statement.startup_calls = count("startup_calls");
  statement.startup = *startup;
  return statement;
}

std::vector<UnusedGraph> unused_graphs_of(const Json& loop, std::size_t files) {
  std::vector<UnusedGraph> graphs;
  for (const Json& entry : objects(loop, "unused_graphs")) {
    const auto file = small(entry, "file"), line = small(entry, "line");
    const std::int64_t bytes = whole(entry, "bytes").value_or(0);
    if (!file || *file >= files || !line || bytes <= 0) continue;
    UnusedGraph& graph = graphs.emplace_back();
    graph.site = {
        .file = FileId{*file}, .line = *line, .end_line = *line, .column = {}, .end_column = {}, .function = text(entry, "function")};
    graph.model = text(entry, "model");
    graph.kept = Bytes{bytes};
  }
  return graphs;
}

std::optional<Processors> processors_of(const Json& loop) {
  const auto found = member(loop, "processors");
  if (!found) return std::nullopt;
  const auto time = [&](const char* name) { return Ns{std::max<std::int64_t>(whole(*found, name).value_or(0), 0)}; };
  const Processors read{
      .count = whole(*found, "count").value_or(0), .wall = time("wall_ns"), .ours = time("ours_ns"), .others = time("others_ns")};
  return read.count > 0 && read.wall > Ns{} ? std::optional(read) : std::nullopt;
}

// Clocks of statements are the host's. The steps timed without the profiler are as long as the device took, which may be more: where it
// is so by more than such times differ by chance, the rest is the device's.
void catch_up(Loop& loop, const Manifest& manifest) {
  constexpr double kByChance = 1.1, kLongest = 1e18;  // ns: no training runs for thirty years
  const bool device = std::ranges::any_of(manifest.devices, [](const Device& each) { return each.kind != "cpu"; });
  if (!device || manifest.plain_steps.empty()) return;
  const double all = static_cast<double>(median(manifest.plain_steps).count()) * static_cast<double>(loop.updates);
  if (all <= kByChance * static_cast<double>(loop.watched.count()) || all >= kLongest) return;
  loop.behind = Ns{std::llround(all)} - loop.watched;
  loop.watched += loop.behind;
}

}  // namespace

Result<Loop> read_loop(const std::filesystem::path& folder, const Manifest& manifest, std::size_t files) {
  const Result<Document> read = read_json(folder, manifest.loop);
  if (!read) return std::unexpected(read.error());
  const std::filesystem::path file = folder / manifest.loop;
  if (const auto schema = check_schema(read->json, "loop", kLoopSchema, file); !schema) return std::unexpected(schema.error());
  Loop loop{.updates = small(read->json, "updates").value_or(0),
            .made = 0,
            .watched = Ns{whole(read->json, "watched_ns").value_or(0)},
            .behind = {},
            .startup = Ns{std::max<std::int64_t>(whole(read->json, "startup_ns").value_or(0), 0)},
            .statements = {}};
  if (loop.updates < 1 || loop.watched <= Ns{}) return std::unexpected(broken(file, "the loop was watched for no update"));
  loop.made = std::max<std::int64_t>(small(read->json, "made").value_or(0), loop.updates);
  for (const Json& entry : objects(read->json, "statements")) {
    if (auto statement = loop_statement(entry, loop, files)) loop.statements.push_back(std::move(*statement));
  }
  loop.rare = std::max(rare_time(loop), part_of(read->json, "rare_ns", loop.watched).value_or(Ns{}));
  catch_up(loop, manifest);
  loop.processors = processors_of(read->json);
  loop.unused_graphs = unused_graphs_of(read->json, files);
  loop.slow_first = part_of(read->json, "slow_first_ns", Ns::max());
  return loop;
}

std::optional<Ns> plain_step(const Manifest& manifest, const Loop* loop) {
  if (loop != nullptr) return per_update(*loop, loop->watched);
  return manifest.plain_steps.empty() ? std::nullopt : std::optional(median(manifest.plain_steps));
}

std::optional<Ns> shown_step(const std::filesystem::path& bundle, const Manifest& manifest) {
  constexpr std::size_t kAnyFile = std::numeric_limits<std::size_t>::max();  // which file a statement is in does not matter here
  const auto loop = manifest.loop.empty() ? std::nullopt : std::optional(read_loop(bundle, manifest, kAnyFile));
  return loop && *loop ? step_time(mean_update(**loop)) : plain_step(manifest, nullptr);
}

}  // namespace hotlens::profile
