// What other systems put into a trace: compilers, captured graphs, several devices, layers that communicate. The events are as those
// systems write them, cut down to what tells.
#include <stdexcept>
#include <string>

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

struct Accounted {
  explicit Accounted(const Script& script, const ModuleMap* map = nullptr)
      : read(script, map), account(attribution::account(read.trace, read.forest, read.steps, read.owners)) {}

  const Work& work(std::string_view kernel) const {
    for (const Work& item : account.work) {
      if (read.trace.names[read.trace.events.name[item.event]].starts_with(kernel)) return item;
    }
    throw std::invalid_argument("no kernel of that name");
  }
  // The name of the innermost module that the kernel's launch belongs to; empty where it has none.
  std::string module_of(std::string_view kernel) const {
    const std::uint32_t call = work(kernel).owner.call;
    return call == kNothing ? "" : std::string(read.owners.found[read.owners.calls.value[call]].name);
  }
  Ns device(Bucket bucket, std::size_t step = 0) const { return account.steps.at(step).device_by_bucket[static_cast<std::size_t>(bucket)]; }

  Read read;
  Account account;
};

}  // namespace

TEST_CASE("SyncBatchNorm exchanges statistics in its own name, forward and backward, unlike gradients that are exchanged for all") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 400)
                            .frame("nn.Module: Net_0", 0, 100)
                            .frame("nn.Module: SyncBatchNorm_0", 10, 80)
                            .op("SyncBatchNorm", 12, 76, {.sequence = 4})
                            .op("aten::batch_norm_stats", 14, 6)
                            .launch(1, 15, 3)
                            .op("c10d::_allgather_base_", 24, 20)
                            .op("record_param_comms", 26, 16)
                            .launch(2, 30, 4, "cudaLaunchKernelExC")
                            .op("aten::batch_norm_elemt", 60, 10)
                            .launch(3, 62, 3)
                            .backward("SyncBatchNormBackward", 120, 80, 4, 1)
                            .op("c10d::allreduce_", 140, 30, {.thread = 1})
                            .op("record_param_comms", 142, 20, {.thread = 1})
                            .launch(4, 150, 4, "cudaLaunchKernelExC", 1)
                            .accumulate(220, 60, 1)
                            .op("c10d::allreduce_", 230, 30, {.thread = 1})
                            .launch(5, 240, 4, "cudaLaunchKernelExC", 1)
                            .kernel("batch_norm_collect_statistics_kernel", 1, 25, 8)
                            .kernel("ncclDevKernel_AllGather_RING_LL(forward)", 2, 40, 10)
                            .kernel("batch_norm_transform_input_kernel", 3, 70, 10)
                            .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(statistics)", 4, 160, 12)
                            .kernel("ncclDevKernel_AllReduce_Sum_f32_TREE(gradients)", 5, 250, 14);
  const Accounted said(script);
  CHECK(said.device(Bucket::communication) == us(10 + 12 + 14));
  CHECK(said.device(Bucket::forward) == us(8 + 10));
  CHECK(said.module_of("ncclDevKernel_AllGather") == "SyncBatchNorm_0");
  const Work& statistics = said.work("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  CHECK(said.module_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL") == "SyncBatchNorm_0");
  CHECK(statistics.owner.stage == Stage::backward);
  CHECK(statistics.owner.works_for_module());
  CHECK_FALSE(said.work("ncclDevKernel_AllReduce_Sum_f32_TREE").owner.works_for_module());
}

TEST_CASE("a compiled region's kernels are forward and backward of the module that was compiled") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 400)
                            .frame("nn.Module: OptimizedModule_0", 0, 100)
                            .op("TorchDynamo Cache Lookup", 2, 4)
                            .op("Torch-Compiled Region: 0/0", 8, 80, {.sequence = 7})
                            .op("CompiledFunction", 12, 70, {.sequence = 7})
                            .range("## Call CompiledFxGraph fq3k ##", 16, 60)
                            .op("triton_poi_fused_add_all_gather_relu_0", 20, 10)
                            .launch(1, 22, 4, "cuLaunchKernel")
                            .op("aten::mm", 40, 12)
                            .launch(2, 44, 4)
                            .backward("CompiledFunctionBackward", 120, 80, 7, 1)
                            .op("CompiledFunctionBackward", 122, 76, {.sequence = 7, .forward_thread = 1, .thread = 1})
                            .range("## Call CompiledFxGraph fz9x ##", 126, 60, {.thread = 1})
                            .op("triton_red_fused_sum_threshold_backward_1", 130, 10, {.thread = 1})
                            .launch(3, 132, 4, "cuLaunchKernelEx", 1)
                            .range("Optimizer.step#SGD.step", 260, 60)
                            .op("aten::_foreach_add_", 270, 20)
                            .launch(4, 275, 4)
                            .kernel("triton_poi_fused_add_all_gather_relu_0", 1, 30, 10)
                            .kernel("sm90_xmma_gemm_f32f32", 2, 50, 20)
                            .kernel("triton_red_fused_sum_threshold_backward_1", 3, 140, 30)
                            .kernel("multi_tensor_apply_kernel", 4, 280, 5);
  const Accounted said(script);
  CHECK(said.device(Bucket::forward) == us(10 + 20));
  CHECK(said.device(Bucket::backward) == us(30));
  CHECK(said.device(Bucket::optimizer) == us(5));
  CHECK(said.device(Bucket::communication) == us(0));
  CHECK(said.read.owners.found.size() == 1);
  for (const char* kernel : {"triton_poi", "sm90_xmma", "triton_red"}) CHECK(said.module_of(kernel) == "OptimizedModule_0");
}

TEST_CASE("one launch of a graph owns all its kernels, beside launches of their own") {
  Script script;
  script.range("ProfilerStep#0", 0, 400)
      .frame("nn.Module: Decoder_0", 10, 60)
      .launch(1, 20, 30, "cudaGraphLaunch")
      .frame("nn.Module: Sampler_0", 80, 40)
      .op("aten::argmax", 85, 20)
      .launch(2, 90, 5);
  for (int i = 0; i < 6; ++i) script.kernel("graph_kernel", 1, 60 + 20 * i, 15);
  script.kernel("reduce_kernel", 2, 190, 10);
  const Accounted said(script);
  CHECK(said.account.steps.at(0).launched.size() == 7);
  for (const Work& work : said.account.work) CHECK(work.launch != kNoNode);
  CHECK(said.device(Bucket::forward) == us(6 * 15 + 10));
  CHECK(said.module_of("graph_kernel") == "Decoder_0");
  CHECK(said.module_of("reduce_kernel") == "Sampler_0");
}

TEST_CASE("of several devices one runs or none does: busy is the union, and every launch keeps its own") {
  Script script;
  script.range("ProfilerStep#0", 0, 200).frame("nn.Module: DataParallel_0", 0, 100);
  script.op("aten::mm", 5, 10).launch(1, 8, 4).op("aten::mm", 20, 10).launch(2, 24, 4);
  script.kernel("gemm_first", 1, 30, 60);
  script.process("1").kernel("gemm_second", 2, 50, 70);
  script.trace().events.thread.back() = trace::ThreadId{91};
  script.trace().threads.resize(92);
  script.trace().threads[91] = {"1", "7", "", {}};
  const Accounted said(script);
  CHECK(said.account.steps.at(0).device == us(120 - 30));
  CHECK(said.account.steps.at(0).launched.size() == 2);
  CHECK(said.module_of("gemm_first") == "DataParallel_0");
  CHECK(said.module_of("gemm_second") == "DataParallel_0");
}
