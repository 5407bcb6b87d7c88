// Stages of loading a trace, beside a raw simdjson walk over the same bytes in the same run.
//
//   load_bench TRACE [Google Benchmark's options]
//
// TRACE is .json or .json.gz; each stage is timed on what the stage before it gave. The last line is the ratio that counts: everything from
// a file of plain JSON to a report against reading and walking it. Reading and inflating run beside parsing in the program; the stage
// "read" is what they cost alone, "parse" is both together.
#include <benchmark/benchmark.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "annotator/profile/profile.h"
#include "annotator/profile/report.h"
#include "annotator/timeline/account.h"
#include "annotator/trace/source.h"
#include "annotator/trace/trace.h"

namespace {

using namespace hotlens;

struct Input {
  std::string path, json;
};

// All of a file's text; empty where it cannot be read.
std::string text_of(const std::string& path) {
  auto source = trace::Source::open(path);
  std::string text;
  std::string piece(std::size_t{4} << 20, '\0');
  while (source) {
    const auto got = source->read(piece);
    if (!got || *got == 0) break;
    text.append(piece, 0, *got);
  }
  return text;
}

// Visits every key and value of every event and touches nothing else.
std::size_t walk(const simdjson::padded_string& json) {
  simdjson::ondemand::parser parser;
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

void add_stages(const Input& input) {
  const auto bytes = static_cast<std::int64_t>(input.json.size());
  const auto stage = [&](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      for (auto _ : state) run();
      state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes);
    })->Unit(benchmark::kMillisecond);
  };
  static const simdjson::padded_string padded(input.json);
  static Issues issues;
  static const trace::Trace trace = trace::read_file(input.path, issues).value();
  static const timeline::Forest forest = timeline::nest(trace);
  static const timeline::Steps steps = timeline::find_steps(trace, forest);
  static const timeline::Owners owners = timeline::find_owners(trace, forest, steps, nullptr);
  stage("raw walk", [] { benchmark::DoNotOptimize(walk(padded)); });
  stage("read", [&] { benchmark::DoNotOptimize(text_of(input.path)); });
  stage("parse", [&] { benchmark::DoNotOptimize(trace::read_file(input.path, issues)); });
  stage("link", [] { benchmark::DoNotOptimize(timeline::nest(trace)); });
  stage("attribute", [] { benchmark::DoNotOptimize(timeline::find_owners(trace, forest, steps, nullptr)); });
  stage("account", [] { benchmark::DoNotOptimize(timeline::account(trace, forest, steps, owners)); });
  stage("whole load", [&] { benchmark::DoNotOptimize(profile::load(input.path)); });
}

// Best of several rounds, the two sides taking turns, so that other load on the machine hits both.
void print_ratio(const Input& input) {
  using Clock = std::chrono::steady_clock;
  const std::filesystem::path plain = std::filesystem::temp_directory_path() / "hotlens-load-bench.json";
  std::ofstream(plain, std::ios::binary) << input.json;
  auto best_walk = Clock::duration::max();
  auto best_load = Clock::duration::max();
  for (int round = 0; round < 7; ++round) {
    const auto start = Clock::now();
    {
      const simdjson::padded_string json = simdjson::padded_string::load(plain.string());
      benchmark::DoNotOptimize(walk(json));
    }
    const auto middle = Clock::now();
    benchmark::DoNotOptimize(profile::report_json(*profile::load(plain).value()));
    best_walk = std::min(best_walk, middle - start);
    best_load = std::min(best_load, Clock::now() - middle);
  }
  std::filesystem::remove(plain);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::printf("file to report %.1f ms, file to raw walk %.1f ms, ratio %.2f; JSON %.1f MB, peak of this process %.1f MB\n", ms(best_load),
              ms(best_walk), ms(best_load) / ms(best_walk), static_cast<double>(input.json.size()) / 1e6,
              static_cast<double>(usage.ru_maxrss) / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: load_bench TRACE [--benchmark_…]\n");
    return 2;
  }
  const Input input{argv[1], text_of(argv[1])};
  if (input.json.empty()) {
    std::fprintf(stderr, "%s: cannot be read\n", argv[1]);
    return 3;
  }
  print_ratio(input);
  argv[1] = argv[0];
  --argc;
  ++argv;
  benchmark::Initialize(&argc, argv);
  add_stages(input);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
