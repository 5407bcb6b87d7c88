// From a trace file to a report, stage by stage, and the whole of it beside a raw simdjson walk over the same file.
//
//   load_bench TRACE [Google Benchmark's options]
//
// TRACE is .json or .json.gz; each stage is timed alone, on what the stage before it gave, in memory:
//   read        the file's bytes, as they are on disk
//   inflate     of a .json.gz: its text, from its bytes in memory
//   parse       text to columns, through the window, which is copied to beside the parse
//   link        columns to nested nodes, forward to backward
//   attribute   steps, and whose each node is
//   account     every nanosecond of each step
//   statistics  sums, medians, kernels, verdict
//   report      to JSON text
//   raw walk    every key and value of the text, nothing kept
// The last lines compare whole runs, best of several rounds that take turns, the file warm in the system's cache, both from the same plain
// file on disk: "file to report" is all the stages above, reading beside parsing as in the program; "file to walk" does once what a program
// that walks the file would do, reads it into fresh memory and walks it with a fresh parser; "walk" is the walk alone, its text and its
// parser's memory in use before.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "annotator/attribution/structure/annotations.h"
#include "annotator/profile/build/annotated.h"
#include "annotator/profile/build/load.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "annotator/trace/source.h"

namespace {

using namespace hotlens;

// All that a source gives; empty where it cannot be read.
std::string text_of(Result<trace::Source> source) {
  std::string text;
  std::string piece(std::size_t{1} << 20, '\0');
  while (source) {
    const auto got = source->read(piece);
    if (!got || *got == 0) break;
    text.append(piece, 0, *got);
  }
  return text;
}

// What each stage works on.
struct Input {
  std::string path, bytes, json;  // bytes: as on disk
  simdjson::padded_string padded;
  profile::Annotated annotated;
};

// Visits every key and value of every event and touches nothing else.
std::size_t walk(simdjson::ondemand::parser& parser, const simdjson::padded_string& json) {
  auto document = parser.iterate(json);
  std::size_t seen = 0;
  for (auto event : document["traceEvents"].get_array()) {
    for (auto field : event.get_object()) {
      seen += field.key().value().raw()[0] == 'a' ? 1 : 0;
      seen += field.value().raw_json_token().value().size();
    }
  }
  return seen;
}

void add_stages(Input& input) {
  const auto stage = [&](const char* name, auto run) {
    benchmark::RegisterBenchmark(name,
                                 [=, size = input.json.size()](benchmark::State& state) {
                                   for (auto _ : state) run();
                                   state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
                                 })
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  };
  static Issues issues;
  const auto read_all = [&] {
    std::ifstream file(input.path, std::ios::binary);
    return file.read(input.bytes.data(), static_cast<std::streamsize>(input.bytes.size())).gcount();
  };
  stage("read", [=] { benchmark::DoNotOptimize(read_all()); });
  if (input.bytes.size() != input.json.size()) {
    stage("inflate", [&] { benchmark::DoNotOptimize(text_of(trace::Source::of(input.bytes, "bytes"))); });
  }
  stage("parse", [&] { benchmark::DoNotOptimize(trace::read_bytes(input.json, "text", issues)); });
  const profile::Annotated& given = input.annotated;
  stage("link", [&] { benchmark::DoNotOptimize(attribution::module_forest(given.trace)); });
  stage("attribute", [&] {
    const attribution::Steps steps = attribution::find_steps(given.trace, given.forest);
    benchmark::DoNotOptimize(attribution::find_owners(given.trace, given.forest, steps, nullptr));
  });
  stage("account", [&] { benchmark::DoNotOptimize(attribution::account(given.trace, given.forest, given.steps, given.owners)); });
  stage("statistics", [&] { benchmark::DoNotOptimize(profile::profile_of(input.annotated)); });
  static const auto profile = profile::profile_of(input.annotated);
  stage("report", [] { benchmark::DoNotOptimize(report::report_json(*profile)); });
  static simdjson::ondemand::parser parser;
  stage("raw walk", [&] { benchmark::DoNotOptimize(walk(parser, input.padded)); });
}

using Clock = std::chrono::steady_clock;

template <class Run>
void keep_best(Clock::duration& best, Run run) {
  const auto start = Clock::now();
  run();
  best = std::min(best, Clock::now() - start);
}

void compare(const Input& input) {
  const std::filesystem::path plain = std::filesystem::temp_directory_path() / "hotlens-load-bench.json";
  std::ofstream(plain, std::ios::binary) << input.json;
  simdjson::ondemand::parser used;
  auto report = Clock::duration::max(), file_walk = report, only_walk = report;
  for (int round = 0; round < 9; ++round) {
    keep_best(file_walk, [&] {
      simdjson::ondemand::parser fresh;
      benchmark::DoNotOptimize(walk(fresh, simdjson::padded_string::load(plain.string())));
    });
    keep_best(only_walk, [&] { benchmark::DoNotOptimize(walk(used, input.padded)); });
    keep_best(report, [&] { benchmark::DoNotOptimize(report::report_json(*profile::load(plain).value())); });
  }
  std::filesystem::remove(plain);
  const auto ms = [](Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::printf("%.1f MB of JSON: file to report %.1f ms, file to walk %.1f ms, walk %.1f ms\n", static_cast<double>(input.json.size()) / 1e6,
              ms(report), ms(file_walk), ms(only_walk));
  std::printf("report over file to walk %.2f, report over walk %.2f\n", ms(report) / ms(file_walk), ms(report) / ms(only_walk));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: load_bench TRACE [--benchmark_…]\n");
    return 2;
  }
  Input input;
  input.path = argv[1];
  std::ifstream file(input.path, std::ios::binary);
  input.bytes.assign(std::istreambuf_iterator<char>(file), {});
  input.json = text_of(trace::Source::open(input.path));
  Result<profile::Annotated> annotated = profile::annotate(input.path);
  if (!annotated) {
    std::fprintf(stderr, "%s: %s\n", argv[1], annotated.error().message.c_str());
    return 3;
  }
  input.padded = simdjson::padded_string(input.json);
  input.annotated = std::move(*annotated);
  argv[1] = argv[0];
  --argc;
  ++argv;
  benchmark::Initialize(&argc, argv);
  add_stages(input);
  benchmark::RunSpecifiedBenchmarks();
  compare(input);
  return 0;
}
