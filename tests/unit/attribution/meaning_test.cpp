#include "annotator/attribution/structure/meaning.h"

#include <string>
#include <utility>

#include "tests/unit/catch.h"

using namespace hotlens::attribution;

TEST_CASE("stages are understood as people write them") {
  const std::pair<const char*, Stage> names[] = {{"## forward ##", Stage::forward},       {"Forward Pass", Stage::forward},
                                                 {"backward", Stage::backward},           {"loss.backward", Stage::backward},
                                                 {"zero_grad", Stage::zero_grad},         {"optimizer_step", Stage::optimizer},
                                                 {"compute_loss", Stage::loss},           {"MSELoss", Stage::loss},
                                                 {"data_loading", Stage::data},           {"## load_batch ##", Stage::data},
                                                 {"## Validation ##", Stage::evaluation}, {"evaluate", Stage::evaluation}};
  for (const auto& [name, stage] : names) {
    CAPTURE(name);
    CHECK(meaning_of_range(name).kind == Kind::stage);
    CHECK(meaning_of_range(name).value == static_cast<std::uint32_t>(stage));
  }
  for (const char* name : {"hid=1 Load Data", "fetch next batch", "read_inputs", "tokenize", "dataset fetch", "step/data_loading",
                           "FetchNextBatch", "train_dataloader", "data load 3", "get batch", "next_train_batch", "loadbatch"}) {
    CAPTURE(name);
    CHECK(meaning_of_range(name).kind == Kind::stage);
    CHECK(meaning_of_range(name).value == static_cast<std::uint32_t>(Stage::data));
  }
  for (const char* name : {"get_input_embeddings", "load_balancing", "BatchNorm2d", "input_layer", "VideoTokenizer", "batch_norm",
                           "readout", "data_parallel", "next layer", "sample_posterior", "reading_head"}) {
    CAPTURE(name);
    CHECK(meaning_of_range(name).kind == Kind::range);
  }
  for (const char* name :
       {"layer1", "forward:encoder", "lossless", "glossary", "gloss", "unforward", "Gloss", "optimal transport", "database"}) {
    CAPTURE(name);
    CHECK(meaning_of_range(name).kind == Kind::range);
  }
}

TEST_CASE("communication is told by the library's or the kernel's name, and fused arithmetic is none") {
  for (const char* name : {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "nccl:all_to_all",
                           "c10d::allreduce_", "gloo:all_reduce", "record_param_comms", "_c10d_functional::all_gather_into_tensor",
                           "void vllm::cross_device_reduce_1stage<half, 2>(vllm::RankData*)", "rcclGenericKernel", "mscclKernel_Sum_half",
                           "void oneShotAllReduceKernel<float>()", "symm_mem::multimem_all_reduce_"}) {
    CAPTURE(name);
    CHECK(traits_of(name).communicates);
  }
  for (const char* name : {"triton_poi_fused_all_gather_into_tensor_add_0", "aten::all", "aten::scatter_reduce", "aten::gather",
                           "reduce_kernel", "void at::native::reduce_kernel<512, 1>()", "aten::linear"}) {
    CAPTURE(name);
    CHECK_FALSE(traits_of(name).communicates);
  }
}

TEST_CASE("operators that write in place, zero, lose and read back are told apart") {
  CHECK(traits_of("aten::add_").in_place);
  CHECK(traits_of("aten::_foreach_addcdiv_").in_place);
  CHECK_FALSE(traits_of("aten::copy_").in_place);
  CHECK_FALSE(traits_of("aten::add").in_place);
  CHECK(traits_of("aten::zero_").zeroes);
  CHECK(traits_of("aten::cross_entropy_loss").loss);
  CHECK(traits_of("aten::binary_cross_entropy_with_logits").loss);
  CHECK_FALSE(traits_of("aten::linear").loss);
  CHECK(traits_of("aten::item").reads_back);
}

TEST_CASE("calls that wait for the device are told apart from those that return at once") {
  for (const char* name :
       {"cudaMemcpy", "cudaMemcpy2D", "cudaMemcpyToSymbol", "hipMemcpy", "hipMemcpyWithStream", "hipMemcpyDtoH", "cuMemcpyDtoH_v2",
        "cudaStreamSynchronize", "cudaStreamSynchronize_ptsz", "hipEventSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize"}) {
    CAPTURE(name);
    CHECK(traits_of(name).waits);
  }
  for (const char* name :
       {"cudaMemcpyAsync", "hipMemcpyAsync", "hipMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", "cudaMemcpy2DAsync", "cudaStreamWaitEvent",
        "cudaLaunchKernel", "hipMemsetAsync", "Memcpy DtoH (Device -> Pageable)", "aten::copy_", "cudaGraphLaunch"}) {
    CAPTURE(name);
    CHECK_FALSE(traits_of(name).waits);
  }
}
