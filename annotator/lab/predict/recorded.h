// The program that a bundle holds, and what was measured beside it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/common/units.h"

namespace hotlens::lab {

struct Recorded {
  std::string id, torch;
  std::vector<std::string> argv;  // as given to `hotlens run`
  std::int64_t batch = 0;         // 0: not known
  std::int64_t batches = 1;       // that a step has, where their gradients are accumulated
  Bytes peak{};                   // of the allocator, in the recorded step
  std::vector<Ns> steps;          // without any profiler; their median is the step that is shown
  std::int64_t faults = 0;        // minor page faults of such a step
  Ns fetching{};  // of such a step what a DataLoader without workers takes to make its batches; 0 beside a device, which works meanwhile
  bool on_cpu = true;
  nlohmann::json document;  // program.json
};

// The error says what the bundle lacks and which command records it.
Result<Recorded> read_recorded(const std::filesystem::path& bundle);
Result<Recorded> read_step(const std::filesystem::path& bundle);  // also where its batch size is not known

// The same script at other batch sizes, recorded into the same bundle (`--batch-sizes`); what cannot be read is left out.
std::vector<Recorded> read_sized(const std::filesystem::path& bundle);

// The script's step, and the same with other values of the number that is called so (`--vary`). `batch` is the number's value.
Result<std::vector<Recorded>> read_varied(const std::filesystem::path& bundle, const std::string& name);

}  // namespace hotlens::lab
