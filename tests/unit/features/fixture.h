// A hand-made profile of a two-layer model, small enough to add up by eye. Two steps of 11 and 12 ms; the first is shown.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "server/features/features.h"
#include "server/features/lines/file_facts.h"

namespace hotlens::test {

inline constexpr const char* kModelText =
    "import torch.nn as nn\n"                                                     // 0
    "\n"                                                                          // 1
    "class Net(nn.Module):\n"                                                     // 2
    "    def __init__(self):\n"                                                   // 3
    "        super().__init__()\n"                                                // 4
    "        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])\n"  // 5
    "        self.norm = nn.LayerNorm(4)\n"                                       // 6
    "\n"                                                                          // 7
    "    def forward(self, x):\n"                                                 // 8
    "        for layer in self.layers:\n"                                         // 9
    "            x = layer(x)\n"                                                  // 10
    "        return self.norm(x)\n"                                               // 11
    "\n"                                                                          // 12
    "def train(model, loader, optimizer):\n"                                      // 13
    "    for x in loader:\n"                                                      // 14
    "        model(x).sum().backward()\n"                                         // 15
    "        optimizer.step()\n";                                                 // 16

inline profile::Times cpu(std::int64_t microseconds) {
  const Ns time{microseconds * 1000};
  return {.cpu_total = time, .cpu_self = time, .device = Ns{}, .span = time};
}

// A folder that is gone with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hotlens-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline profile::Site site(std::uint32_t line, std::uint32_t begin, std::uint32_t end, std::string function) {
  return {.file = {0}, .line = line, .end_line = line, .column = begin, .end_column = end, .function = std::move(function)};
}

inline std::shared_ptr<const profile::Profile> small_profile(const std::filesystem::path& file) {
  std::ofstream(file) << kModelText;
  auto profile = std::make_shared<profile::Profile>();
  profile->id = "test";
  profile->torch = "2.13.0";
  profile->devices = {{"Test CPU", "cpu"}};
  profile->steps = {{.index = 0, .start = Ns{0}, .wall = Ns{11'000'000}}, {.index = 1, .start = Ns{11'000'000}, .wall = Ns{12'000'000}}};
  profile->files = {{.path = file, .copy = file, .sha256 = "", .workspace = true}};
  const auto linear = site(5, 37, 52, "Net.__init__.<locals>.<listcomp>");
  profile->modules = {
      {.path = "",
       .class_name = "Net",
       .children = {{1}, {4}},
       .calls = 1,
       .forward = {cpu(3000), cpu(3000)},
       .backward = {cpu(5000), cpu(6000)},
       .class_site = site(2, 0, 21, "<module>")},
      {.path = "layers", .class_name = "ModuleList", .parent = {0}, .children = {{2}, {3}}, .attached = site(5, 8, 72, "Net.__init__")},
      {.path = "layers.0",
       .class_name = "Linear",
       .parent = {1},
       .calls = 1,
       .forward = {cpu(1000), cpu(1000)},
       .backward = {cpu(2000), cpu(2500)},
       .attached = linear},
      {.path = "layers.1",
       .class_name = "Linear",
       .parent = {1},
       .calls = 1,
       .forward = {cpu(1000), cpu(1000)},
       .backward = {cpu(2000), cpu(2500)},
       .attached = linear},
      {.path = "norm",
       .class_name = "LayerNorm",
       .parent = {0},
       .calls = 1,
       .forward = {cpu(1000), cpu(1000)},
       .backward = {cpu(1000), cpu(1000)},
       .slices = {{Ns{1'000'000}, Ns{1'000'000}}},
       .attached = site(6, 8, 35, "Net.__init__")},
  };
  profile->call_sites = {{.site = site(10, 16, 24, "Net.forward"), .modules = {{2}, {3}}, .calls = 2},
                         {.site = site(11, 15, 27, "Net.forward"), .modules = {{4}}, .calls = 1}};
  profile->lines = {{.file = {0},
                     .line = 10,
                     .function = "Net.forward",
                     .calls = 2,
                     .forward = {cpu(2200), cpu(2200)},
                     .backward = {cpu(4000), cpu(5000)}},
                    {.file = {0},
                     .line = 11,
                     .function = "Net.forward",
                     .calls = 1,
                     .forward = {cpu(1100), cpu(1100)},
                     .backward = {cpu(1000), cpu(1000)}}};
  profile->stages = {{.stage = profile::Stage::backward,
                      .wall = {Ns{5'000'000}, Ns{6'000'000}},
                      .cpu = {Ns{5'000'000}, Ns{6'000'000}},
                      .device = {Ns{}, Ns{}}},
                     {.stage = profile::Stage::optimizer,
                      .wall = {Ns{2'000'000}, Ns{2'000'000}},
                      .cpu = {Ns{2'000'000}, Ns{2'000'000}},
                      .device = {Ns{}, Ns{}}}};
  profile->stage_sites = {{.site = site(15, 8, 33, "train"),
                           .stage = profile::Stage::backward,
                           .wall = profile->stages[0].wall,
                           .cpu = profile->stages[0].cpu,
                           .device = profile->stages[0].device},
                          {.site = site(16, 8, 24, "train"),
                           .stage = profile::Stage::optimizer,
                           .wall = profile->stages[1].wall,
                           .cpu = profile->stages[1].cpu,
                           .device = profile->stages[1].device}};
  return profile;
}

inline features::FileView open(const std::shared_ptr<const profile::Profile>& profile, std::string text = kModelText) {
  const std::filesystem::path& file = profile->files.front().path;
  return features::view(file, source::Tree::parse(std::move(text)), features::bind(profile, file), profile);
}

inline std::string label_at(const std::vector<features::Hint>& hints, std::uint32_t line) {
  const auto hint = std::ranges::find(hints, line, [](const features::Hint& h) { return h.at.line; });
  return hint == hints.end() ? "" : hint->label;
}

struct Opened {
  TemporaryFolder folder;
  std::shared_ptr<const profile::Profile> profile = small_profile(folder.path() / "model.py");
};

}  // namespace hotlens::test
