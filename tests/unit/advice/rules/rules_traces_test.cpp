// What the rules say of the real traces in HOTLENS_TRACES, judged by hand from their raw events.
#include <algorithm>

#include "annotator/profile/build/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/traces.h"

using namespace hotlens;

namespace {

struct Judged {
  const char* file;  // how its name begins
  std::vector<std::string> kinds;
  const char* why;
};

const std::vector<Judged>& judged() {
  static const std::vector<Judged> all{
      {"cpu_only", {}, "all-reduces alone"},
      {"critical_path_cuda", {}, "three kernels in a stretch of Python"},
      {"h100_gaunernst_bert", {"fewer_launches"}, "inference in bf16 with SDPA; the device is busy for 7 %"},
      {"h100_google_owlv2",
       {"fused_attention", "loader_workers"},
       "the pipeline's loader prepares images in the training process for 51 %; 180 times bmm, softmax, bmm over 5185 patches"},
      {"inference_vllm", {}, "one graph: no operators to look at"},
      {"mi300_resnet", {}, "bf16 in NHWC; collectives take 70 %"},
      {"nccl_parser_config",
       {"fewer_launches", "fused_optimizer"},
       "the device is busy for a quarter, so its 633 layout kernels hold nobody up"},
      {"negative_queue", {"lower_precision"}, "a fifth of its products is fp32"},
      {"ns_resolution", {"lower_precision"}, "V100: fp32 convolutions for 62 %, no TF32 there; 35 layout kernels of 0.3 ms a step"},
      {"perf_model_normalization", {"fewer_launches"}, "launches that load libraries take 93 %"},
      {"switch_transformers", {"fewer_launches", "lower_precision", "tf32"}, "A100 without TF32: fp32 gemms; launches take most"},
      {"trace_diff_control", {"host_read"}, "copies to the host block six times"},
      {"trace_diff_test", {"lower_precision"}, "V100, the device is busy for 96 %; a third of it fp32 products"},
      {"v2021-01",
       {"fused_optimizer", "loader_workers", "zero_grad_none"},
       "named nw0; SGD parameter by parameter; 161 gradients zeroed and added to; the copy of 19 MB takes 1.3 %"},
      {"v2021-06", {"fused_optimizer", "loader_workers", "zero_grad_none"}, "the same on torch 1.9"},
      {"worker0_step_12",
       {"fewer_launches", "fused_optimizer", "host_tensor", "loader_workers"},
       "jagged features are copied inside the model; Adagrad parameter by parameter"},
      {"worker1_step_12", {"fused_optimizer", "host_tensor", "loader_workers"}, "the same; bound by communication"},
      {"legacy_nokineto", {"fused_optimizer", "loader_workers"}, "a small CPU run with SGD's loop"},
  };
  return all;
}

}  // namespace

TEST_CASE("rules say of real traces what their raw events bear out") {
  for (const std::filesystem::path& path : tests::traces(tests::kReal, "rules are not asked about real traces")) {
    const std::string file = path.filename().string();
    const auto known = std::ranges::find_if(judged(), [&](const Judged& each) { return file.starts_with(each.file); });
    if (known == judged().end()) continue;
    CAPTURE(file, known->why);
    const auto profile = profile::load(path);
    REQUIRE(profile.has_value());
    std::vector<std::string> kinds;
    for (const profile::Finding& finding : (*profile)->findings) {
      kinds.push_back(finding.kind);
      CHECK(finding.least_ratio >= 0);
      CHECK(finding.at_most <= (*profile)->step_wall());
      for (const profile::Verdict::Evidence& evidence : finding.evidence) CHECK(evidence.time > Ns{});
    }
    std::ranges::sort(kinds);
    CHECK(kinds == known->kinds);
  }
}
