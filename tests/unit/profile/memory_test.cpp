#include "annotator/profile/memory.h"

#include "tests/unit/catch.h"
#include "tests/unit/timeline/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;
using timeline::Script;
using timeline::us;

namespace {

struct Event {
  std::int64_t time = 0, address = 0, bytes = 0, total = 0;
  std::int8_t device = 0;
};

// Net_0 runs Linear_0 (10 to 50) and ReLU_0 (60 to 90) and ends at 100; backward of Linear's product is at 120 to 150.
MemoryUse used(std::initializer_list<Event> events) {
  Script script = Script()
                      .range("ProfilerStep#0", 0, 200)
                      .frame("nn.Module: Net_0", 5, 95)
                      .frame("nn.Module: Linear_0", 10, 40)
                      .op("aten::addmm", 15, 30, {.sequence = 1})
                      .frame("nn.Module: ReLU_0", 60, 30)
                      .op("aten::relu", 65, 20, {.sequence = 2})
                      .op("autograd::engine::evaluate_function: AddmmBackward0", 120, 30, {.sequence = 1, .forward_thread = 1});
  trace::Trace trace = script.trace();
  for (const Event& event : events) {
    trace.memory.thread.push_back(trace::ThreadId{0});
    trace.memory.time.push_back(us(event.time));
    trace.memory.address.push_back(event.address);
    trace.memory.bytes.push_back(event.bytes);
    trace.memory.device_type.push_back(event.device);
    trace.memory.device.push_back(0);
    trace.memory.total_allocated.push_back(event.total);
    trace.memory.total_reserved.push_back(0);
  }
  const timeline::Forest forest = timeline::nest(trace);
  const timeline::Steps steps = timeline::find_steps(trace, forest);
  const timeline::Owners owners = timeline::find_owners(trace, forest, steps, nullptr);
  std::vector<std::uint32_t> parents;
  for (const timeline::FoundModule& module : owners.found) parents.push_back(module.parent);
  return memory_use({.trace = trace, .forest = forest, .owners = owners, .module_parent = parents, .step = steps.spans.at(0)});
}

constexpr std::size_t kNet = 0, kLinear = 1, kRelu = 2;

}  // namespace

TEST_CASE("activations are what a forward leaves behind, by the module that allocated it") {
  const MemoryUse memory = used({{20, 1, 100, 1100}, {30, 2, 40, 1140}, {40, 2, -40, 1100}, {70, 3, 100, 1200}, {95, 1, -100, 1100}});
  CHECK(memory.modules[kRelu].activations == Bytes{100});
  CHECK_FALSE(memory.modules[kLinear].activations.has_value());
  CHECK(memory.modules[kNet].activations == Bytes{100});
}

TEST_CASE("temporary memory is the rise above what was held when the module began") {
  const MemoryUse memory = used({{20, 1, 100, 1100}, {30, 2, 40, 1140}, {40, 2, -40, 1100}, {70, 3, 10, 1110}});
  CHECK(memory.modules[kLinear].temporary == Bytes{140});
  CHECK(memory.modules[kRelu].temporary == Bytes{10});
  CHECK(memory.modules[kNet].temporary == Bytes{140});
  CHECK(memory.peak == Bytes{1140});
  CHECK(memory.start == Bytes{1000});
}

TEST_CASE("gradients are what backward leaves behind, by the module whose backward allocated it") {
  const MemoryUse memory = used({{125, 7, 64, 1064}, {130, 8, 32, 1096}, {140, 8, -32, 1064}, {190, 9, 5, 1069}});
  CHECK(memory.modules[kLinear].gradients == Bytes{64});
  CHECK(memory.modules[kNet].gradients == Bytes{64});
  CHECK_FALSE(memory.modules[kRelu].gradients.has_value());
}

TEST_CASE("only the device's memory counts where there is a device's") {
  const MemoryUse memory = used({{20, 1, 100, 5000, 0}, {30, 2, 40, 1040, 1}});
  CHECK(memory.peak == Bytes{1040});
  CHECK(memory.modules[kLinear].activations == Bytes{40});
}

TEST_CASE("what is not recorded stays absent") {
  const MemoryUse none = used({});
  CHECK_FALSE(none.peak.has_value());
  CHECK(none.modules.size() == 3);
  CHECK_FALSE(none.modules[kNet].temporary.has_value());
  const MemoryUse without_addresses = used({{20, trace::kNone, 100, trace::kNone}});
  CHECK_FALSE(without_addresses.peak.has_value());
  CHECK_FALSE(without_addresses.modules[kNet].activations.has_value());
  CHECK(without_addresses.modules[kNet].temporary == Bytes{100});
}
