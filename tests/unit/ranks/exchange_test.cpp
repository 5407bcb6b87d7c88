#include "annotator/ranks/exchange.h"

#include "annotator/trace/exchange.h"
#include "tests/unit/catch.h"
#include "tests/unit/ranks/files.h"

namespace hotlens::ranks {
namespace {

TEST_CASE("operations have one name, whoever names them") {
  CHECK(operation_named("allreduce") == "all_reduce");
  CHECK(operation_named("_allgather_base") == "all_gather");
  CHECK(operation_named("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)") == "reduce_scatter");
  CHECK(operation_named("all_to_allv") == "all_to_all");
  CHECK(operation_named("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)") == "all_to_all");
  CHECK(operation_named("mine") == "mine");
}

TEST_CASE("shapes tell how many elements tensors have together") {
  CHECK(trace::elements_in("[[262912]]") == 262912);
  CHECK(trace::elements_in("[[[3, 2], [6]], []]") == 12);
  CHECK(trace::elements_in("[]") == 0);
  CHECK(trace::elements_in("[[9223372036854775807, 3]]") == trace::kNone);
  CHECK(trace::first_text(R"([["c10::Half"], ""])") == "c10::Half");
  CHECK(trace::first_text("[]").empty());
}

TEST_CASE("an exchange of Gloo is what its range says") {
  const TraceFile file("gloo", R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":50},
    {"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":1,"tid":2,"ts":60,"dur":40,
     "args":{"Input Dims":[[100, 10]],"Input type":["float"]}},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":110,"dur":50})");
  const auto annotated = profile::annotate(file.path());
  REQUIRE(annotated);
  const std::vector<Collective> found = collectives_of(*annotated);
  REQUIRE(found.size() == 1);
  CHECK(found[0].operation == "all_reduce");
  CHECK(found[0].bytes == Bytes{4000});
  CHECK(found[0].group == "gloo");
  CHECK(found[0].end - found[0].start == std::chrono::microseconds(40));
}

TEST_CASE("a kernel of NCCL tells its group, number and size, or the operator around its launch does") {
  const std::string arguments = R"("Collective name":"_allgather_base","In msg nelems":100,"Out msg nelems":800,"dtype":"BFloat16",
     "Group size":8,"Process Group Name":"3","Seq":7)";
  const std::string op = R"J({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":0,"dur":50,"args":{ARGS}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":5,"args":{"correlation":9}},
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllGather_RING_LL(x)","pid":0,"tid":7,"ts":30,"dur":90,
     "args":{"correlation":9,"stream":7OWN}})J";
  for (const bool own : {false, true}) {
    std::string events = op;
    events.replace(events.find("ARGS"), 4, own ? std::string() : arguments);
    events.replace(events.find("OWN"), 3, own ? ", " + arguments : std::string());
    const TraceFile file("nccl", events);
    const auto annotated = profile::annotate(file.path());
    REQUIRE(annotated);
    const std::vector<Collective> found = collectives_of(*annotated);
    REQUIRE(found.size() == 1);
    CHECK(found[0].operation == "all_gather");
    CHECK(found[0].group == "3");
    CHECK(found[0].sequence == 7);
    CHECK(found[0].group_size == 8);
    CHECK(found[0].bytes == Bytes{1600});
  }
}

TEST_CASE("waiting for other processes is communication, in its stage") {
  const TraceFile file("waits", R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":50},
    {"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":1,"tid":2,"ts":60,"dur":5000},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5100,"dur":50},
    {"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":1,"tid":2,"ts":5160,"dur":5000},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":30000,"dur":50})");
  const auto annotated = profile::annotate(file.path());
  REQUIRE(annotated);
  // After the second the main thread does something else for 20 ms: it did not wait for it.
  CHECK(annotated->account.steps[0].wall_by_bucket[static_cast<std::size_t>(attribution::Bucket::communication)] ==
        std::chrono::microseconds(5000));
}

}  // namespace
}  // namespace hotlens::ranks

TEST_CASE("how an exchange works is told by its kernel's name, of old and new NCCL") {
  CHECK(hotlens::ranks::algorithm_named("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)") == "ring, LL");
  CHECK(hotlens::ranks::algorithm_named("ncclKernel_AllReduce_TREE_LL128_Sum_float") == "tree, LL128");
  CHECK(hotlens::ranks::algorithm_named("ncclDevKernel_AllReduce_Sum_bf16_NVLS_TREE_SIMPLE") == "NVLS tree, simple");
  CHECK(hotlens::ranks::algorithm_named("ncclDevKernel_Generic(ncclDevComm*)").empty());
  CHECK(hotlens::ranks::algorithm_named("sort_RING_LL").empty());
}
