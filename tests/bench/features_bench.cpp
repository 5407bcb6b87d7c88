// What an editor waits for when a profile of 20,000 modules is there. Aim: its anchors in less than 100 ms.
//
// The model is made of classes of four layers each; `sites` of them are written out in the file, and their instances share the 20,000
// modules. Each layer has a definition and a call with columns, each line that ran a row. anchors: the facts of the file are collected,
// bound to its text (the copy in the bundle is read) and placed; the text was parsed when it was opened, as by the server. hints: of the
// whole file, for the first time and after an edit.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/features/features.h"
#include "server/features/hints/hint_memory.h"

namespace {

using namespace hotlens;
using profile::Site;

constexpr std::uint32_t kModules = 20'000;
constexpr std::uint32_t kSteps = 5;
constexpr std::uint32_t kLayers = 4;       // of a class
constexpr std::uint32_t kClassLines = 16;  // one of them each 16 lines
constexpr std::uint32_t kDefined = 3;      // line of a class with its first layer
constexpr std::uint32_t kCalled = 9;       // and with its first call

std::string class_text(std::uint32_t number) {
  const std::string n = std::to_string(number);
  std::string text = "class Block" + n + "(nn.Module):\n    def __init__(self):\n        super().__init__()\n";
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    text += "        self.layer" + std::to_string(i) + " = nn.Linear(16, " + n + ")\n";
  }
  text += "\n    def forward(self, x):\n";
  for (std::uint32_t i = 0; i < kLayers; ++i) text += "        x = self.layer" + std::to_string(i) + "(x)\n";
  return text + "        return x\n\n\n";
}

std::string file_text(std::uint32_t classes) {
  std::string text;
  for (std::uint32_t i = 0; i < classes; ++i) text += class_text(i);
  return text;
}

profile::PerStep times() {
  return profile::PerStep(kSteps, {.cpu_total = Ns{2'000'000}, .cpu_self = Ns{2'000'000}, .span = Ns{2'000'000}});
}

Site site(std::uint32_t line, std::uint32_t begin, std::uint32_t end, std::string function) {
  return {.file = {0}, .line = line, .end_line = line, .column = begin, .end_column = end, .function = std::move(function)};
}

// All instances of one class, its layers among them.
void add_class(profile::Profile& profile, std::uint32_t number, std::uint32_t instances) {
  const std::string name = "Block" + std::to_string(number);
  const std::uint32_t first_line = number * kClassLines;
  std::vector<profile::CallSite> calls(kLayers);
  for (std::uint32_t instance = 0; instance < instances; ++instance) {
    const auto block = static_cast<std::uint32_t>(profile.modules.size());
    const std::string path = name + "." + std::to_string(instance);
    profile.modules.push_back({.path = path,
                               .class_name = name,
                               .parent = {0},
                               .calls = 1,
                               .forward = times(),
                               .backward = times(),
                               .class_site = site(first_line, 0, 23, "<module>")});
    profile.modules.front().children.push_back({block});
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      const auto module = static_cast<std::uint32_t>(profile.modules.size());
      profile.modules.push_back({.path = path + ".layer" + std::to_string(layer),
                                 .class_name = "Linear",
                                 .parent = {block},
                                 .calls = 1,
                                 .forward = times(),
                                 .backward = times(),
                                 .attached = site(first_line + kDefined + layer, 8, 40, name + ".__init__")});
      profile.modules[block].children.push_back({module});
      calls[layer].modules.push_back({module});
    }
  }
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    calls[layer].site = site(first_line + kCalled + layer, 12, 26, name + ".forward");
    calls[layer].calls = instances;
    calls[layer].forward = calls[layer].backward = times();
    profile.call_sites.push_back(std::move(calls[layer]));
    profile.lines.push_back({.file = {0},
                             .line = first_line + kCalled + layer,
                             .function = name + ".forward",
                             .calls = instances,
                             .forward = times(),
                             .backward = times()});
  }
}

struct Recorded {
  std::filesystem::path path;
  std::shared_ptr<const profile::Profile> profile;
  source::Tree opened;

  ~Recorded() { std::filesystem::remove(path); }
};

Recorded recorded(std::uint32_t sites) {
  const std::uint32_t classes = sites / kLayers;
  const auto path = std::filesystem::temp_directory_path() / ("hotlens_features_bench_" + std::to_string(sites) + ".py");
  std::ofstream(path) << file_text(classes);
  auto profile = std::make_shared<profile::Profile>();
  profile->steps.assign(kSteps, {.wall = Ns{40'000'000}});
  profile->files = {{.path = path, .copy = path, .workspace = true}};
  profile->modules.push_back({.path = "", .class_name = "Model", .calls = 1, .forward = times(), .backward = times()});
  for (std::uint32_t number = 0; number < classes; ++number) add_class(*profile, number, kModules / (kLayers + 1) / classes);
  return {path, std::move(profile), source::Tree::parse(file_text(classes))};
}

features::FileView view_of(const Recorded& run, const source::Tree& tree) {
  return features::view(run.path, tree, features::bind(run.profile, run.path, &run.opened), run.profile);
}

void anchors(benchmark::State& state) {
  const Recorded run = recorded(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(view_of(run, run.opened));
  state.counters["modules"] = static_cast<double>(run.profile->modules.size());
  state.counters["facts"] = static_cast<double>(view_of(run, run.opened).placements.size());
}
BENCHMARK(anchors)->Arg(2'000)->Arg(16'000)->Unit(benchmark::kMillisecond);

void first_hints(benchmark::State& state) {
  const Recorded run = recorded(static_cast<std::uint32_t>(state.range(0)));
  const features::FileView view = view_of(run, run.opened);
  for (auto _ : state) benchmark::DoNotOptimize(features::inlay_hints(view, {}, {.min_share = 0, .tooltips = false}));
}
BENCHMARK(first_hints)->Arg(2'000)->Arg(16'000)->Unit(benchmark::kMillisecond);

// A line is typed above the middle of the file, and taken away again.
void hints_after_an_edit(benchmark::State& state) {
  const Recorded run = recorded(static_cast<std::uint32_t>(state.range(0)));
  const features::Options options{.min_share = 0, .tooltips = false};
  features::FileView view = view_of(run, run.opened);
  features::HintMemory memory;
  features::inlay_hints(view, {}, options, memory);
  const std::string text = run.opened.text();
  const std::size_t at = text.find("class", text.size() / 2);
  std::string longer = text;
  longer.insert(at, "# one\n");
  const auto byte = static_cast<std::uint32_t>(at);
  bool inserted = false;
  for (auto _ : state) {
    inserted = !inserted;
    const std::uint32_t before = inserted ? byte : byte + 6, after = inserted ? byte + 6 : byte;
    const source::Edit edit{.start_byte = byte, .old_end_byte = before, .new_end_byte = after};
    view = features::view(run.path, view.tree.edited(edit, inserted ? longer : text), view.facts, run.profile);
    benchmark::DoNotOptimize(features::inlay_hints(view, {}, options, memory));
  }
}
BENCHMARK(hints_after_an_edit)->Arg(2'000)->Arg(16'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
