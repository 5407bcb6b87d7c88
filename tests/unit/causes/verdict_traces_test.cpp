// The verdict on the real traces in HOTLENS_TRACES, each with what a count over the raw events says independently of our account: how long
// the device is busy, which calls block, how long the data loader runs.
#include "annotator/profile/build/load.h"
#include "annotator/profile/profile.h"
#include "tests/unit/catch.h"
#include "tests/unit/traces.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

struct Known {
  const char* file;  // how its name begins
  const char* verdict;
  const char* evidence;
};

constexpr Known kKnown[] = {
    {"h100_google_owlv2", "data", "the loader runs for 51 % of the step; the device is busy for 47 %, none of it meanwhile"},
    {"h100_gaunernst_bert", "launch", "the device is busy for 7 %; one synchronisation of 0.3 %"},
    {"switch_transformers", "launch",
     "the device is busy for 11 %, synchronisations take 6 %; one launch takes 347 ms (loading a library)"},
    {"perf_model_normalization", "launch", "the device is busy for 0.1 %; launches that load libraries take 93 %"},
    {"critical_path_cuda", "unclear", "the device is busy for 2 %, the host runs operators for 5 %; the rest is one stretch of Python"},
    {"nccl_parser_config", "launch", "the device is busy for 22 to 26 %, communication for 5 %, and nothing blocks"},
    {"mi300_resnet", "communication", "the device is busy for 99.5 %; collectives run alone for 70 %"},
    {"worker1_step_12", "communication", "collectives run alone for 56 %; the host waits for them for 33 %"},
    {"v2021-01_profiler_api", "data",
     "the host never waits; in five of its six steps, the shown one among them, most of the device's idle time (24.6 of 38 ms) passes "
     "while "
     "the loader runs, the rest is ended by launches that came after it began; the first step is the other way round"},
    {"trace_diff_control", "unclear",
     "its six steps are bound by different things, by turns: launches hold 34 to 74 % of the critical path, communication 9 to 44 %; in "
     "the "
     "shown one 48 and 17 %, and four copies to the host block for 12.3 of 76 ms while the device works"},
    {"trace_diff_test", "memory", "the device is busy for 96 %; of its arithmetic 63 % is no product"},
    {"ns_resolution", "compute", "the device is busy for 99 %, products and convolutions for 62 %"},
    {"negative_queue", "unclear",
     "one copy to the host blocks for 145 of 216 ms; meanwhile the kernels of a graph launched before stand apart"},
    {"v2021-06_resnet50", "data", "the device idles for 44 %; the loader runs for 40 % and nothing blocks"},
    {"inference_vllm", "compute",
     "one graph starts 6.3 ms after its launch returned and then runs to the window's end, no gap above 12 us; 83 % of it is products"},
    {"cpu_only", "communication", "all-reduces of Gloo take 179 of 210 ms, and no operator runs"},
};

}  // namespace

TEST_CASE("the verdict on real traces is what their raw events say") {
  for (const std::filesystem::path& path : tests::traces(tests::kReal, "the verdict on real traces is not asked")) {
    const std::string file = path.filename().string();
    for (const Known& known : kKnown) {
      if (!file.starts_with(known.file)) continue;
      CAPTURE(file, known.evidence);
      const auto loaded = load(path);
      REQUIRE(loaded.has_value());
      CHECK((*loaded)->verdict.kind == known.verdict);
      Ns spent{};
      for (const Ns time : (*loaded)->spent) spent += time;
      CHECK(spent == (*loaded)->steps[(*loaded)->representative].wall);
    }
  }
}
