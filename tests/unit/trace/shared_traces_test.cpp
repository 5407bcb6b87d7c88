// Real traces, where the folder that HOTLENS_TRACES names holds them.
#include "annotator/trace/trace.h"
#include "tests/unit/catch.h"
#include "tests/unit/traces.h"

using namespace hotlens;
using namespace hotlens::trace;

namespace {

struct Expected {
  const char* file;
  std::size_t kernels;  // as the collection's own table counts them
};

}  // namespace

TEST_CASE("real traces hold the kernels that their collection counts") {
  const std::vector<std::filesystem::path> real = tests::traces(tests::kReal, "real traces are not read");
  if (real.empty()) return;
  for (const auto& [file, kernels] :
       {Expected{"mi300_resnet_act_checkpoint.json.gz", 2995}, Expected{"h100_google_owlv2-large-patch14-ensemble__1016001.json.gz", 4330},
        Expected{"v2021-06_resnet50_nw0_1623143089861.pt.trace.json.gz", 8772}, Expected{"nccl_parser_config_nccl_data.json.gz", 2700},
        Expected{"trace_diff_test_test.json.gz", 9876}}) {
    CAPTURE(file);
    Issues issues;
    const Result<Trace> trace = read_file(real.front().parent_path() / file, issues);
    REQUIRE(trace.has_value());
    CHECK(issues.items().empty());
    CHECK(static_cast<std::size_t>(std::ranges::count(trace->events.category, Category::kernel)) == kernels);
  }
}
