#include "annotator/profile/build/memory.h"
#include "annotator/attribution/structure/annotations.h"

#include <limits>

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

struct Event {
  std::int64_t time = 0, address = 0, bytes = 0, total = 0;
  std::int8_t kind = 0;  // of device; 0: the host
  std::int32_t number = 0;
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
    trace.memory.device_type.push_back(event.kind);
    trace.memory.device.push_back(event.number);
    trace.memory.total_allocated.push_back(event.total);
    trace.memory.total_reserved.push_back(0);
  }
  const attribution::Forest forest = attribution::module_forest(trace);
  const attribution::Steps steps = attribution::find_steps(trace, forest);
  const attribution::Owners owners = attribution::find_owners(trace, forest, steps, nullptr);
  std::vector<std::uint32_t> parents;
  for (const attribution::FoundModule& module : owners.found) parents.push_back(module.parent);
  return memory_use({.trace = trace, .forest = forest, .owners = owners, .module_parent = parents, .step = steps.spans.at(0)});
}

constexpr std::uint32_t kNet = 0, kLinear = 1, kRelu = 2;

std::int64_t held(const MemoryUse& memory, std::size_t module, Holding what) {
  return count(memory.moment->modules[module][static_cast<std::size_t>(what)]);
}

std::int64_t sum_of_moment(const MemoryUse& memory) {
  Bytes all{};
  for (const Holdings& each : memory.moment->modules) all = all + sum(each);
  for (const Holdings& each : memory.moment->stages) all = all + sum(each);
  return count(all);
}

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

TEST_CASE("at the peak each byte that the step allocated is held for one thing, by the innermost module") {
  // The forward keeps 100 and needs 40 meanwhile; 7 belong to no module.
  const MemoryUse forward = used({{3, 9, 7, 1007}, {20, 1, 100, 1107}, {30, 2, 40, 1147}, {40, 2, -40, 1107}, {130, 1, -100, 1007}});
  REQUIRE(forward.moment.has_value());
  CHECK(forward.moment->time == us(30));
  CHECK(forward.moment->module == kLinear);
  CHECK(held(forward, kLinear, Holding::activations) == 100);
  CHECK(held(forward, kLinear, Holding::workspace) == 40);
  CHECK(held(forward, kNet, Holding::activations) == 0);
  CHECK(sum_of_moment(forward) == 147);
}

TEST_CASE("a gradient is one at the peak, be it that the peak comes after backward") {
  const MemoryUse late = used({{20, 1, 100, 1100}, {125, 7, 64, 1164}, {130, 8, 32, 1196}, {140, 8, -32, 1164}, {190, 9, 500, 1664}});
  REQUIRE(late.moment.has_value());
  CHECK(held(late, kLinear, Holding::gradients) == 64);
  CHECK(held(late, kLinear, Holding::activations) == 100);
  const MemoryUse inside = used({{20, 1, 100, 1100}, {125, 7, 64, 1164}, {130, 8, 32, 1196}, {140, 8, -32, 1164}});
  CHECK(inside.moment->stage == Stage::backward);
  CHECK(held(inside, kLinear, Holding::workspace) == 32);
}

TEST_CASE("of several devices the peak is that of the fullest one") {
  const MemoryUse memory = used({{20, 1, 100, 5100, 1, 0}, {30, 2, 40, 9040, 1, 1}, {70, 3, 10, 9050, 1, 1}});
  CHECK(memory.peak == Bytes{9050});
  CHECK(memory.start == Bytes{9000});
  CHECK(sum_of_moment(memory) == 50);
}

TEST_CASE("the whole peak adds up, whatever the allocator counts") {
  std::vector<Module> modules(3);
  modules[kLinear].parent = modules[kRelu].parent = ModuleId{kNet};
  modules[kNet].memory = {.parameters = Bytes{30}, .gradients = Bytes{70}, .optimizer = Bytes{20}};
  modules[kLinear].memory = {.parameters = Bytes{30}, .gradients = Bytes{70}, .optimizer = Bytes{20}};
  modules[kRelu].memory = {.parameters = Bytes{30}};  // shares its weight with the other, which has it
  const auto whole = [&](const MemoryUse& memory, std::optional<Bytes> elsewhere) {
    std::vector<Module> given = modules;
    const MemoryAtPeak peak = settle_peak(memory, elsewhere, given);
    Holdings all{};
    for (const Module& module : given) all = all + module.memory.at_peak;
    for (const Holdings& stage : peak.stages) all = all + stage;
    CHECK(sum(all) + peak.before == peak.total);
    return std::pair(peak, all);
  };
  const auto part = [](const Holdings& of, Holding what) { return count(of[static_cast<std::size_t>(what)]); };
  const std::initializer_list<Event> host = {{20, 1, 100, 100}, {125, 7, 64, 164}};
  // The host's allocator began to count after the weights were made; 64 of the 70 bytes of gradients are made anew.
  const auto [on_host, of_host] = whole(used(host), Bytes{5});
  CHECK(on_host.outside == Bytes{30 + 6 + 20 + 5});
  CHECK(on_host.total == Bytes{164 + 61});
  CHECK(on_host.before == Bytes{0});
  CHECK(part(of_host, Holding::weights) == 30);
  CHECK(part(of_host, Holding::gradients) == 70);
  // A device's counts all, so weights are part of what was there before.
  const auto [on_device, of_device] = whole(used({{20, 1, 100, 1100, 1}}), std::nullopt);
  CHECK(on_device.outside == Bytes{0});
  CHECK(on_device.total == Bytes{1100});
  CHECK(part(of_device, Holding::optimizer) == 20);
  CHECK(on_device.before == Bytes{1000 - 30 - 70 - 20});
  // Not all of the model can lie on a device that held so little.
  const auto [small, of_small] = whole(used({{20, 1, 100, 140, 1}}), std::nullopt);
  CHECK(small.before == Bytes{40});
  CHECK(part(of_small, Holding::weights) == 0);
  // Frees that were lost, counts that cannot be.
  const auto [lost, of_lost] = whole(used({{20, 1, 100, 10, 1}}), std::nullopt);
  CHECK(lost.total == Bytes{100});
  CHECK(lost.before == Bytes{0});
  const MemoryUse odd = used({{20, 1, -5, std::numeric_limits<std::int64_t>::max()}});
  CHECK_FALSE(odd.peak.has_value());
  CHECK_FALSE(odd.start.has_value());
  const auto [none, of_none] = whole(used({}), std::nullopt);
  CHECK_FALSE(none.moment.has_value());
  CHECK(none.total == Bytes{30 + 70 + 20});
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
