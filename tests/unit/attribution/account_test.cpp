#include "annotator/attribution/account/account.h"

#include <map>
#include <numeric>
#include <random>

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

Account account_of(const Script& script) {
  const Read read(script);
  return account(read.trace, read.forest, read.steps, read.owners);
}

Ns wall(const StepAccount& step, Bucket bucket) {
  return step.wall_by_bucket[static_cast<std::size_t>(bucket)];
}
Ns device(const StepAccount& step, Bucket bucket) {
  return step.device_by_bucket[static_cast<std::size_t>(bucket)];
}
template <std::size_t N>
Ns sum(const std::array<Ns, N>& parts) {
  return std::accumulate(parts.begin(), parts.end(), Ns{});
}

// Busy time of the device within a window, counted tick by tick.
Ns busy(const trace::Trace& trace, const Interval& window) {
  Ns total{};
  for (Ns at = window.start; at < window.end; at += us(1)) {
    for (std::size_t event = 0; event < trace.events.size(); ++event) {
      if (trace::on_device(trace.events.category[event]) && trace.events.start[event] <= at && at < trace.events.end(event)) {
        total += us(1);
        break;
      }
    }
  }
  return total;
}

}  // namespace

TEST_CASE("time outside every operator is the host's, between two of one stage it is the stage's") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .range("enumerate(DataLoader)#_It.__next__", 10, 20)
                                         .op("aten::stack", 12, 4)
                                         .op("aten::linear", 40, 5)
                                         .op("aten::relu", 48, 2)
                                         .backward("ReluBackward0", 60, 10)
                                         .backward("AddmmBackward0", 75, 5)
                                         .range("Optimizer.step#SGD.step", 85, 10)
                                         .op("aten::add_", 90, 2));
  const StepAccount& step = account.steps.at(0);
  CHECK(wall(step, Bucket::data_loading) == us(20));
  CHECK(wall(step, Bucket::forward) == us(10));
  CHECK(wall(step, Bucket::backward) == us(20));
  CHECK(wall(step, Bucket::optimizer) == us(10));
  CHECK(wall(step, Bucket::host) == us(40));
  CHECK(sum(step.wall_by_bucket) == us(100));
}

TEST_CASE("a range that is no module leaves the time between operators to the host or their stage") {
  Script script;
  script.range("ProfilerStep#0", 0, 100)
      .range("DistributedDataParallel.forward", 10, 45)
      .op("aten::linear", 40, 5)
      .op("aten::relu", 48, 2)
      .backward("ReluBackward0", 60, 10)
      .backward("AddmmBackward0", 75, 5);
  Read read(script);
  read.owners.of[read.node("DistributedDataParallel.forward")] = {};  // a map step knows the modules, and it is none of them
  const Account result = account(read.trace, read.forest, read.steps, read.owners);
  const StepAccount& step = result.steps.at(0);
  CHECK(wall(step, Bucket::forward) == us(10));
  CHECK(wall(step, Bucket::backward) == us(20));
  CHECK(wall(step, Bucket::host) == us(70));
  CHECK(wall(step, Bucket::unattributed) == us(0));
}

static void tell(Owner& pause, Read& read, std::vector<Share> shares) {
  pause.split = static_cast<std::uint32_t>(read.owners.splits.size());
  read.owners.splits.push_back(std::move(shares));
}

TEST_CASE("time before an operator divides between a fetch, code of the step's own and what is not known") {
  const Script script = Script().range("ProfilerStep#0", 0, 100).op("aten::linear", 40, 10).op("aten::relu", 50, 10);
  Read read(script);
  tell(read.owners.pauses[read.node("aten::linear")], read,
       {{.weight = 0.25}, {.line = 7, .stage = Stage::data, .weight = 0.5}, {.line = 8, .stage = Stage::other, .weight = 0.25}});
  tell(read.owners.tails[read.node("aten::relu")], read, {{.line = 9, .stage = Stage::other, .weight = 1}});
  const Account result = account(read.trace, read.forest, read.steps, read.owners);
  const StepAccount& step = result.steps.at(0);
  CHECK(wall(step, Bucket::data_loading) == us(20));
  CHECK(step.wall_by_stage.at(static_cast<std::size_t>(Stage::data)) == us(20));
  CHECK(wall(step, Bucket::host) == us(60));
  std::map<std::uint32_t, Ns> lines;
  for (const Piece& piece : step.wall) lines[piece.owner.line] += piece.end - piece.start;
  CHECK(lines[7] == us(20));
  CHECK(lines[8] == us(10));
  CHECK(lines[9] == us(40));
  CHECK(std::ranges::none_of(step.wall, [](const Piece& piece) { return piece.owner.split != kNothing; }));
}

TEST_CASE("time before an operator is of the execution that is known to have run then") {
  const Script script = Script().range("ProfilerStep#0", 0, 100).op("aten::randn", 10, 5).op("aten::linear", 60, 10);
  Read read(script);
  tell(read.owners.pauses[read.node("aten::linear")], read, {{.line = 7, .stage = Stage::forward, .weight = 1}});
  const Account result = account(read.trace, read.forest, read.steps, read.owners);
  const StepAccount& step = result.steps.at(0);
  const auto pause = std::ranges::find(step.wall, us(15), &Piece::start);
  REQUIRE(pause != step.wall.end());
  CHECK(pause->end == us(60));
  CHECK(pause->owner.line == 7);
  CHECK(pause->bucket == Bucket::forward);
  CHECK(sum(step.wall_by_bucket) == us(100));
}

TEST_CASE("code of the step's own between two operators of one stage is of that stage, on its line") {
  const Script script = Script().range("ProfilerStep#0", 0, 100).op("aten::linear", 10, 10).op("aten::relu", 60, 10);
  Read read(script);
  tell(read.owners.pauses[read.node("aten::relu")], read, {{.line = 7, .stage = Stage::other, .weight = 1}});
  const Account result = account(read.trace, read.forest, read.steps, read.owners);
  const auto pause = std::ranges::find(result.steps.at(0).wall, us(20), &Piece::start);
  REQUIRE(pause != result.steps.at(0).wall.end());
  CHECK(pause->owner.line == 7);
  CHECK(pause->owner.stage == read.owner("aten::linear").stage);
}

// The owner of the time between two operators inside another one, whose owners are given.
static Owner between_inner(const Owner& outer, const Owner& a, const Owner& b) {
  const Script script =
      Script().range("ProfilerStep#0", 0, 100).op("aten::outer", 10, 80).op("aten::conv", 20, 10).op("aten::norm", 60, 10);
  Read read(script);
  for (Chains* chains : {&read.owners.calls, &read.owners.lines, &read.owners.sites}) {
    *chains = {};
    chains->add(kNothing, 0, us(0), false);  // 0: the model
    chains->add(0, 1, us(1), false);         // 1: a block in it
    chains->add(1, 2, us(2), false);         // 2 and 3: two layers of the block
    chains->add(1, 3, us(3), false);
  }
  read.owners.of[read.node("aten::outer")] = outer;
  read.owners.of[read.node("aten::conv")] = a;
  read.owners.of[read.node("aten::norm")] = b;
  const Account result = account(read.trace, read.forest, read.steps, read.owners);
  const auto piece = std::ranges::find(result.steps.at(0).wall, us(30), &Piece::start);
  REQUIRE(piece != result.steps.at(0).wall.end());
  CHECK(piece->end == us(60));
  return piece->owner;
}

static Owner owner_at(std::uint32_t place, Stage stage = Stage::forward) {
  return {.call = place, .line = place, .made_line = place, .site = place, .stage = stage, .known = true};
}

TEST_CASE("time inside an operator belongs to what its neighbours share") {
  CHECK(between_inner(owner_at(0), owner_at(2), owner_at(3)) == owner_at(1));
}

TEST_CASE("time inside an operator is the operator's where its neighbours are alike or of another stage") {
  CHECK(between_inner(owner_at(0), owner_at(2), owner_at(2)) == owner_at(0));
  CHECK(between_inner(owner_at(0), owner_at(2, Stage::loss), owner_at(3, Stage::loss)) == owner_at(0));
  CHECK(between_inner(owner_at(0), owner_at(2), owner_at(3, Stage::loss)) == owner_at(0));
}

TEST_CASE("time inside an operator is never further out than the operator itself") {
  CHECK(between_inner(owner_at(2), owner_at(1), owner_at(3)) == owner_at(2));
  // Each of the four places is held by itself.
  for (std::uint32_t Owner::* place : {&Owner::call, &Owner::line, &Owner::made_line, &Owner::site}) {
    Owner outer = owner_at(0), expected = owner_at(1);
    outer.*place = 2;
    expected.*place = 2;
    CHECK(between_inner(outer, owner_at(2), owner_at(3)) == expected);
  }
}

TEST_CASE("time inside an operator that copies, exchanges or accumulates gradients does so too, in its direction") {
  Owner outer = owner_at(0), expected = owner_at(1);
  for (Owner* each : {&outer, &expected}) {
    each->copies = each->communicates = each->accumulates = true;
    each->direction = Direction::backward;
  }
  CHECK(between_inner(outer, owner_at(2), owner_at(3)) == expected);
}

TEST_CASE("a call that synchronises with the device is waiting") {
  const Account account =
      account_of(Script().range("ProfilerStep#0", 0, 50).op("aten::item", 5, 30).launch(3, 8, 20, "cudaStreamSynchronize"));
  CHECK(wall(account.steps.at(0), Bucket::waiting) == us(20));
  CHECK(wall(account.steps.at(0), Bucket::forward) == us(10));
}

TEST_CASE("a long launch waits for the queue where the device is busy throughout, else it is work") {
  const auto step_with = [](std::int64_t kernel) {
    return account_of(Script().range("ProfilerStep#0", 0, 1000).op("aten::mm", 10, 300).launch(4, 20, 200).kernel("gemm", 3, 5, kernel))
        .steps.at(0);
  };
  CHECK(wall(step_with(400), Bucket::waiting) == us(200));
  CHECK(wall(step_with(100), Bucket::waiting) == us(0));
}

TEST_CASE("a short copy that synchronises waits, and one to the device helps to move the data") {
  const auto step_with = [](const std::string& copy) {
    return account_of(Script()
                          .range("ProfilerStep#0", 0, 100)
                          .op("aten::copy_", 10, 60)
                          .launch(4, 20, 40, "hipMemcpyWithStream")
                          .copy(copy, 4, 35, 20))
        .steps.at(0);
  };
  CHECK(wall(step_with("Memcpy DtoH (Device -> Pageable)"), Bucket::waiting) == us(40));
  CHECK(wall(step_with("Memcpy HtoD (Pageable -> Device)"), Bucket::waiting) == us(15));
}

TEST_CASE("a captured graph that is replayed without backward is forward") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .launch(1, 5, 10, "cudaGraphLaunch")
                                         .kernel("gemm", 1, 20, 30)
                                         .kernel("softmax", 1, 50, 10)
                                         .frame("nn.Module: Sampler_0", 70, 20)
                                         .op("aten::argmax", 75, 10));
  CHECK(device(account.steps.at(0), Bucket::forward) == us(40));
}

TEST_CASE("a copy that the host cannot leave before it is done is waiting until it moves data itself") {
  const auto step_with = [](const std::string& copy) {
    return account_of(Script()
                          .range("ProfilerStep#0", 0, 1000)
                          .op("aten::copy_", 10, 600)
                          .launch(4, 20, 500, "cudaMemcpyAsync")
                          .copy(copy, 4, 300, 100))
        .steps.at(0);
  };
  CHECK(wall(step_with("Memcpy DtoH (Device -> Pageable)"), Bucket::waiting) == us(500));
  const StepAccount to_device = step_with("Memcpy HtoD (Pageable -> Device)");
  CHECK(wall(to_device, Bucket::waiting) == us(280));
  CHECK(wall(to_device, Bucket::host_to_device) >= us(220));
}

TEST_CASE("idle device time belongs to the work that ends it") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .op("aten::mm", 0, 60)
                                         .launch(1, 5, 2)
                                         .kernel("first", 1, 10, 20)
                                         .launch(2, 40, 2)
                                         .kernel("second", 2, 50, 30));
  const StepAccount& step = account.steps.at(0);
  REQUIRE(step.gaps.size() == 3);
  CHECK(step.gaps[0].end == us(10));
  CHECK(step.gaps[1].start == us(30));
  CHECK(step.gaps[1].ended_by == 1);
  CHECK(step.gaps[2].ended_by == kNoNode);
  Ns idle{};
  for (const Gap& gap : step.gaps) idle += gap.end - gap.start;
  CHECK(idle + step.device == us(100));
}

TEST_CASE("communication is exposed where nothing else runs beside it") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .launch(1, 1, 2)
                                         .launch(2, 4, 2)
                                         .kernel("gemm", 1, 10, 30)
                                         .kernel("ncclDevKernel_AllReduce_Sum_f32", 2, 20, 50));
  const StepAccount& step = account.steps.at(0);
  CHECK(step.communication == us(50));
  CHECK(step.exposed_communication == us(30));
  CHECK(account.work[1].exposed == us(30));
}

TEST_CASE("the bucket of communication is its exposed part, whichever began first") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .op("aten::mm", 1, 2)
                                         .launch(1, 1, 1)
                                         .launch(2, 4, 1)
                                         .launch(3, 6, 1)
                                         .kernel("ncclDevKernel_AllReduce_Sum_f32", 2, 10, 50)
                                         .kernel("gemm", 1, 20, 15)
                                         .kernel("gemm", 3, 50, 30));
  const StepAccount& step = account.steps.at(0);
  CHECK(step.device == us(70));
  CHECK(step.communication == us(50));
  CHECK(step.exposed_communication == us(10 + 15));
  CHECK(device(step, Bucket::communication) == step.exposed_communication);
  REQUIRE(step.gaps.size() == 2);
  CHECK(step.gaps[0].ended_by == 0);
}

TEST_CASE("after the last event of the host it waits for its device") {
  const Account account = account_of(Script().op("aten::mm", 0, 10).launch(1, 2, 2).kernel("gemm", 1, 20, 80));
  const StepAccount& step = account.steps.at(0);
  CHECK(step.span.end == us(100));
  CHECK(wall(step, Bucket::waiting) == us(90));
  CHECK(wall(step, Bucket::host) == us(0));
  CHECK(account.recorded.end == us(10));
}

TEST_CASE("where the host gets ahead of the device and never waits, a step takes until the device has caught up") {
  Script script;
  for (int step = 0; step < 3; ++step) {
    script.range("ProfilerStep#" + std::to_string(step), step * 100, 90);  // and the loop's own code until the next one
    script.op("aten::mm", step * 100 + 10, 80).launch(step + 1, step * 100 + 20, 5).kernel("gemm", step + 1, 30 + step * 500, 500);
  }
  const Account all = account_of(script);
  for (std::size_t at = 0; at < 3; ++at) {
    const StepAccount& step = all.steps[at];
    CHECK(step.window.start == (at == 0 ? us(0) : all.steps[at - 1].window.end));
    CHECK(step.window.end == us(30 + static_cast<std::int64_t>(at + 1) * 500));
    CHECK(step.device == us(500));
    CHECK(step.carried == us(0));
    CHECK(step.waiting_by_stage[static_cast<std::size_t>(Stage::other)] == step.behind);
    CHECK(sum(step.wall_by_bucket) == step.window.end - step.window.start);
    CHECK(sum(step.wall_by_stage) == step.window.end - step.window.start);
  }
}

TEST_CASE("a host that is as far ahead at the end as at the begin has steps as long as their spans") {
  Script steady;
  steady.op("aten::mm", 0, 90).launch(9, 10, 5).kernel("gemm", 9, 20, 300);
  for (int step = 0; step < 3; ++step) {
    const std::int64_t begin = 100 + step * 300;
    steady.range("ProfilerStep#" + std::to_string(step), begin, 300);
    steady.op("aten::mm", begin + 10, 80).launch(step + 1, begin + 20, 5).kernel("gemm", step + 1, begin + 220, 300);
  }
  for (const StepAccount& step : account_of(steady).steps) {
    CHECK(step.behind == us(0));
    CHECK(step.caught_up == us(0));
    CHECK(step.window.start == step.span.start);
    CHECK(step.window.end == step.span.end);
  }
}

// Steps of 100 µs, the last longer, each with a kernel of `kernel` µs; the last waits for the device.
Script waits_at_the_end(int steps, std::int64_t kernel) {
  const std::int64_t end = 30 + steps * kernel, begin = (steps - 1) * 100;
  Script script;
  for (int step = 0; step < steps; ++step) {
    script.range("ProfilerStep#" + std::to_string(step), step * 100, step + 1 < steps ? 100 : end - begin);
    script.op("aten::mm", step * 100 + 10, 80).launch(step + 1, step * 100 + 20, 5).kernel("gemm", step + 1, 30 + step * kernel, kernel);
  }
  return script.launch(50, begin + 95, end - begin - 95, "cudaDeviceSynchronize");
}

TEST_CASE("what a step waits for earlier ones is their time") {
  const Account all = account_of(waits_at_the_end(3, 300));
  for (std::size_t at = 0; at < 3; ++at) {
    const StepAccount& step = all.steps[at];
    CHECK(step.window.end == us(30 + static_cast<std::int64_t>(at + 1) * 300));
    CHECK(step.device == us(300));
    CHECK(sum(step.wall_by_bucket) == step.window.end - step.window.start);
    CHECK(sum(step.wall_by_stage) == step.window.end - step.window.start);
  }
  CHECK(all.steps[1].behind == us(200));
  CHECK(all.steps[2].behind == us(0));
  CHECK(all.steps[2].caught_up == us(430));  // of the 635 that it waits
  CHECK(wall(all.steps[2], Bucket::waiting) == us(205));
}

TEST_CASE("a step that is not behind tells nothing of those that are") {
  Script script = waits_at_the_end(3, 300);
  for (int step = 3; step < 6; ++step) {
    const std::int64_t begin = 930 + (step - 3) * 100;
    script.range("ProfilerStep#" + std::to_string(step), begin, 100);
    script.op("aten::mm", begin + 10, 80).launch(step + 1, begin + 20, 5).kernel("gemm", step + 1, begin + 30, 10);
  }
  const Account all = account_of(script);
  for (std::size_t at = 0; at < 6; ++at) CHECK((all.steps[at].behind + all.steps[at].caught_up > us(0)) == (at < 3));
}

TEST_CASE("work that was launched before the recording is no part of its first step") {
  Script script;
  script.kernel("gemm", 90, 0, 300).kernel("add", 91, 250, 60, 91);
  for (int step = 0; step < 3; ++step) {
    script.range("ProfilerStep#" + std::to_string(step), step * 100, 100);
    script.op("aten::mm", step * 100 + 10, 80).launch(step + 1, step * 100 + 20, 5).kernel("gemm", step + 1, 310 + step * 200, 200);
  }
  for (const StepAccount& step : account_of(script).steps) {
    CHECK(step.window.end - step.window.start == us(200));
    CHECK(step.carried == us(0));
  }
}

TEST_CASE("a host that is slower than its device for a step does not wait in it") {
  Script script;
  script.range("ProfilerStep#0", 0, 100).op("aten::mm", 10, 80).launch(1, 20, 5).kernel("gemm", 1, 30, 300);
  script.range("ProfilerStep#1", 100, 500).op("aten::sort", 110, 480).launch(2, 580, 5).kernel("sort", 2, 590, 10);
  for (const StepAccount& step : account_of(script).steps) {
    CHECK(step.window.start == step.span.start);
    CHECK(step.window.end == step.span.end);
  }
}

TEST_CASE("while a backward thread works, the main thread's time is backward's") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .op("aten::linear", 5, 10, {.sequence = 1})
                                         .backward("AddmmBackward0", 30, 10, 1, 1)
                                         .accumulate(45, 5, 1)
                                         .range("Optimizer.step#SGD.step", 70, 10));
  const StepAccount& step = account.steps.at(0);
  CHECK(wall(step, Bucket::backward) == us(15));
  CHECK(wall(step, Bucket::gradient_accumulation) == us(5));
  CHECK(step.wall_by_stage[static_cast<std::size_t>(Stage::backward)] == us(20));
  CHECK(sum(step.wall_by_bucket) == us(100));
}

TEST_CASE("a backward thread's pause while the main thread runs forward is no backward time") {
  const std::string node = evaluation("AddmmBackward0");
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 100)
                                         .op("aten::linear", 0, 10, {.sequence = 1})
                                         .op(node, 12, 8, {.sequence = 1, .forward_thread = 1, .thread = 1})
                                         .op("aten::linear", 30, 10, {.sequence = 2})
                                         .op(node, 42, 8, {.sequence = 2, .forward_thread = 1, .thread = 1}));
  const StepAccount& step = account.steps.at(0);
  CHECK(wall(step, Bucket::backward) == us(16));
  CHECK(step.cpu_by_stage[static_cast<std::size_t>(Stage::backward)] == us(16));
}

TEST_CASE("device work keeps the bucket of its launch in an earlier step, and what has no launch is a row of its own") {
  const Account account = account_of(Script()
                                         .range("ProfilerStep#0", 0, 50)
                                         .range("ProfilerStep#1", 50, 50)
                                         .op("aten::linear", 5, 10)
                                         .launch(7, 6, 2)
                                         .kernel("gemm", 7, 30, 40)
                                         .kernel("unknown", 99, 75, 6)
                                         .kernel("ncclDevKernel_AllGather", 98, 81, 4)
                                         .kernel("ncclDevKernel_AllReduce", 8, 90, 5)
                                         .op("aten::relu", 60, 10)
                                         .launch(8, 62, 2));
  const StepAccount& first = account.steps.at(0);
  const StepAccount& second = account.steps.at(1);
  CHECK(device(first, Bucket::forward) == us(20));
  CHECK(device(second, Bucket::forward) == us(20));
  CHECK(device(second, Bucket::earlier_step) == us(10));
  CHECK(second.earlier_communication == us(4));
  CHECK(second.communication == us(9));
  CHECK(second.carried == us(30));
  CHECK(first.carried == us(0));
  CHECK(device(second, Bucket::communication) == us(5));
  CHECK(first.device == us(20));
  CHECK(second.device == us(35));
  REQUIRE(first.launched.size() == 1);
  CHECK(first.device_by_stage[static_cast<std::size_t>(Stage::forward)] == us(40));
}

TEST_CASE("whatever runs, buckets add up to the step and device rows to its busy time") {
  const unsigned seed = 5;
  CAPTURE(seed);
  std::mt19937 generator(seed);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(generator()) % n; };
  const std::vector<std::string> names = {"aten::add", "aten::to", evaluation("MulBackward0"), "c10d::allreduce_",
                                          evaluation("torch::autograd::AccumulateGrad")};
  for (int round = 0; round < 300; ++round) {
    Script script;
    std::int64_t at = 0;
    for (int step = 0; step < 3; ++step) {
      const std::int64_t length = 1 + below(120);
      script.range("ProfilerStep#" + std::to_string(step), at, length);
      at += length + below(3);
    }
    const std::int64_t events = below(60);
    for (std::int64_t i = 0; i < events; ++i) {
      const auto start = below(at + 20) - 10;
      const auto duration = below(40);
      const auto thread = static_cast<std::uint32_t>(below(3));
      switch (below(6)) {
        case 0:
          script.launch(i, start, duration, below(2) == 0 ? "cudaLaunchKernel" : "cudaDeviceSynchronize", thread);
          break;
        case 1:
          script.kernel("k", below(60), start, duration);
          break;
        case 2:
          script.copy("Memcpy HtoD (Pinned -> Device)", below(60), start, duration);
          break;
        case 3:
          script.range("Optimizer.step#A.step", start, duration);
          break;
        case 4:
          script.frame("nn.Module: M_" + std::to_string(below(4)), start, duration, {.thread = thread});
          break;
        default:
          script.op(names[static_cast<std::size_t>(below(std::ssize(names)))], start, duration,
                    {.sequence = below(4), .forward_thread = static_cast<std::int32_t>(below(2)), .thread = thread});
      }
    }
    const Account account = account_of(script);
    for (const StepAccount& step : account.steps) {
      REQUIRE(step.window.end - step.window.start == step.span.end - step.span.start + step.behind - step.caught_up);
      REQUIRE(sum(step.wall_by_bucket) == step.window.end - step.window.start);
      REQUIRE(sum(step.wall_by_stage) == step.window.end - step.window.start);
      REQUIRE(sum(step.device_by_bucket) == step.device);
      REQUIRE(step.device == busy(script.trace(), step.window));
      REQUIRE(step.carried <= step.device);
      REQUIRE(device(step, Bucket::earlier_step) <= step.carried);
      REQUIRE(step.exposed_communication <= step.communication);
      REQUIRE(device(step, Bucket::communication) + step.earlier_communication == step.exposed_communication);
      if (!account.work.empty()) {
        Ns idle{};
        for (const Gap& gap : step.gaps) idle += gap.end - gap.start;
        REQUIRE(idle + step.device == step.window.end - step.window.start);
      }
      Ns reached = step.span.start;
      for (const Piece& piece : step.wall) {
        REQUIRE(piece.start == reached);
        REQUIRE(piece.end > piece.start);
        reached = piece.end;
      }
      REQUIRE(reached == step.span.end);
    }
  }
}
