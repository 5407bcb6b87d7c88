// Each rule on a small recording that has its evidence, and on the nearest one that has not.
#include "annotator/advice/rules/rules.h"

#include "annotator/advice/rules/text.h"
#include "annotator/common/format.h"
#include "annotator/costs/finder.h"
#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// The shapes of the last operator that was added.
void shaped(Script& script, const std::string& shapes) {
  trace::Trace& trace = script.trace();
  trace.inputs.event.push_back(static_cast<std::uint32_t>(trace.events.size() - 1));
  trace.inputs.shapes.push_back(trace.inputs_text.intern(shapes));
  trace.inputs.types.push_back({});
  trace.inputs.values.push_back({});
}

struct Asked {
  explicit Asked(const Script& script, const std::string& verdict = "unclear", std::optional<profile::PageFaults> faults = {},
                 std::optional<bool> cudnn_benchmark = {})
      : read(script), account(attribution::account(read.trace, read.forest, read.steps, read.owners)) {
    for (const StepAccount& step : account.steps) profile.steps.push_back({.wall = step.span.end - step.span.start, .device = step.device});
    profile.verdict.kind = verdict;
    profile.page_faults = faults;
    profile.cudnn_benchmark = cudnn_benchmark;
    const auto kernels = rules::kernel_names(read.trace, account);
    const costs::Given given{read.trace.inputs, read.trace.inputs_text};
    findings = rules::findings({.trace = read.trace,
                                .forest = read.forest,
                                .owners = read.owners,
                                .account = account,
                                .model = nullptr,
                                .profile = profile,
                                .kernels = kernels,
                                .given = &given},
                               causes::Schedule(account));
  }
  const profile::Finding* of(std::string_view kind) const {
    const auto found = std::ranges::find(findings, kind, &profile::Finding::kind);
    return found == findings.end() ? nullptr : &*found;
  }

  Read read;
  attribution::Account account;
  profile::Profile profile;
  std::vector<profile::Finding> findings;
};

// The host waits for all work from `at` to the end of a step of 1000 µs.
void wait_for_all(Script& script, std::int64_t at) {
  script.launch(99, at, 999 - at, "cudaDeviceSynchronize");
}

// A step of 1000 µs with one product of 100 µs at 800.
Script step_with_product(const std::string& kernel = "ampere_bf16_s16816gemm_bf16_128x128") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  script.op("aten::mm", 800, 20).launch(1, 805, 5).kernel(kernel, 1, 820, 180);
  return script;
}

}  // namespace

TEST_CASE("a single-process loader that the step waits for asks for workers") {
  Script script = step_with_product();
  script.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 700);
  const Asked asked(script);
  REQUIRE(asked.of("loader_workers"));
  CHECK(asked.of("loader_workers")->at_most == us(700));
  CHECK(asked.of("loader_workers")->evidence.front().time == us(700));

  Script workers = step_with_product();
  workers.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 700);
  CHECK_FALSE(Asked(workers).of("loader_workers"));
}

TEST_CASE("copies from pageable memory ask for pinned memory, those from pinned memory do not") {
  const auto with_copy = [](const std::string& name) {
    Script script = step_with_product();
    script.op("aten::to", 100, 400).op("aten::copy_", 105, 390).launch(7, 110, 380, "cudaMemcpyAsync").copy(name, 7, 112, 376);
    return Asked(script);
  };
  const Asked pageable = with_copy("Memcpy HtoD (Pageable -> Device)");
  REQUIRE(pageable.of("pin_memory"));
  CHECK(pageable.of("pin_memory")->at_most >= us(390));
  CHECK(pageable.of("pin_memory")->evidence.front().what == "1 copy from pageable memory");
  CHECK_FALSE(with_copy("Memcpy HtoD (Pinned -> Device)").of("pin_memory"));
}

TEST_CASE("reading a number asks for less of it only where the device has nothing to do meanwhile or after") {
  Script idle = step_with_product();
  idle.op("aten::mm", 0, 20).launch(2, 5, 5).kernel("gemm", 2, 20, 300);
  idle.op("aten::item", 30, 310).op("aten::_local_scalar_dense", 31, 308).launch(3, 35, 300, "cudaStreamSynchronize");
  const Asked asked(idle);
  REQUIRE(asked.of("host_read"));
  CHECK(asked.of("host_read")->evidence.front().what == "the host waits for a number from the device, 1 time");

  // The device is busy to the end of the step whatever the host does.
  Script busy;
  busy.range("ProfilerStep#0", 0, 1000);
  busy.op("aten::mm", 0, 10).launch(1, 2, 5).kernel("gemm", 1, 10, 490);
  busy.op("aten::mm", 20, 10).launch(2, 22, 5).kernel("gemm", 2, 500, 495);
  busy.op("aten::item", 40, 958).op("aten::_local_scalar_dense", 41, 956).launch(3, 45, 950, "cudaStreamSynchronize");
  CHECK_FALSE(Asked(busy).of("host_read"));
}

TEST_CASE("32-bit products ask for autocast, and for TF32 where the device has it") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  script.op("aten::mm", 0, 20).launch(1, 5, 5).kernel("ampere_sgemm_128x64_tn", 1, 20, 970);
  wait_for_all(script, 30);
  CHECK(Asked(script).of("lower_precision"));
  CHECK_FALSE(Asked(script).of("tf32"));
  script.trace().devices.push_back({.id = 0, .name = "NVIDIA A100", .compute_capability = 8});
  const Asked asked(script);
  REQUIRE(asked.of("tf32"));
  CHECK(asked.of("tf32")->at_most == us(485));
  script.trace().devices.front().compute_capability = 7;
  CHECK_FALSE(Asked(script).of("tf32"));
  CHECK_FALSE(Asked(step_with_product()).of("lower_precision"));
}

TEST_CASE("an optimizer that is not fused asks for it") {
  const auto with_update = [](const std::string& range, const std::string& op) {
    Script script = step_with_product();
    script.range(range, 100, 500);
    for (int i = 0; i < 10; ++i) script.op(op, 110 + i * 40, 30);
    return Asked(script);
  };
  const Asked loop = with_update("Optimizer.step#AdamW.step", "aten::addcdiv_");
  REQUIRE(loop.of("fused_optimizer"));
  CHECK(loop.of("fused_optimizer")->evidence.front().what == "AdamW: one parameter after the other, 10 operators");
  CHECK(with_update("Optimizer.step#Adam.step", "aten::_foreach_add_").of("fused_optimizer"));
  CHECK_FALSE(with_update("Optimizer.step#AdamW.step", "aten::_fused_adamw_").of("fused_optimizer"));
  CHECK_FALSE(with_update("Optimizer.step#Lion.step", "aten::addcdiv_").of("fused_optimizer"));
}

TEST_CASE("kernels that convert layouts ask for channels_last") {
  const auto with_kernel = [](const std::string& name) {
    Script script;
    script.range("ProfilerStep#0", 0, 1000);
    script.op("aten::cudnn_convolution", 0, 20).launch(1, 5, 5).kernel(name, 1, 20, 700);
    script.op("aten::mm", 30, 20).launch(2, 35, 5).kernel("ampere_bf16_s16816gemm_bf16_128x128", 2, 720, 270);
    wait_for_all(script, 60);
    return Asked(script);
  };
  CHECK(with_kernel("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>").of("channels_last"));
  CHECK_FALSE(with_kernel("sm80_xmma_fprop_implicit_gemm_f16f16").of("channels_last"));
}

TEST_CASE("product, softmax, product asks for one operator; other things between them are no attention") {
  const auto with_between = [](const std::string& between) {
    Script script;
    script.range("ProfilerStep#0", 0, 1000);
    script.op("aten::matmul", 0, 100).op("aten::bmm", 10, 80);
    script.op(between, 110, 100);
    script.op("aten::softmax", 220, 300).op("aten::_softmax", 225, 290);
    shaped(script, "[[8, 12, 128, 128], [], []]");
    script.op("aten::bmm", 530, 100);
    return Asked(script);
  };
  const Asked attention = with_between("aten::div");
  REQUIRE(attention.of("fused_attention"));
  CHECK(attention.of("fused_attention")->evidence.front().what ==
        "1 attention as product, softmax, product, scores of 8×12×128×128 are kept; between the products");
  CHECK(attention.of("fused_attention")->evidence.front().time == us(400));
  CHECK_FALSE(with_between("aten::native_layer_norm").of("fused_attention"));
  CHECK(with_between("aten::dropout").of("fused_attention"));  // of probability 0
  for (const char* draws : {"aten::bernoulli_", "aten::native_dropout"})
    CHECK_FALSE(with_between(draws).of("fused_attention"));  // on a CPU
  Script fused;
  fused.range("ProfilerStep#0", 0, 1000).op("aten::scaled_dot_product_attention", 0, 500);
  CHECK_FALSE(Asked(fused).of("fused_attention"));
}

TEST_CASE("late launches ask for fewer of them where the verdict says so") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int i = 0; i < 10; ++i) script.op("aten::add", i * 100, 95).launch(i + 1, i * 100 + 80, 5).kernel("add", i + 1, i * 100 + 88, 3);
  CHECK(Asked(script, "launch").of("fewer_launches"));
  CHECK_FALSE(Asked(script, "data").of("fewer_launches"));
}

TEST_CASE("gradients that are zeroed and then added to ask for none; accumulation over several passes needs them") {
  const auto with_additions = [](int additions) {
    Script script;
    script.range("ProfilerStep#0", 0, 1000).range("Optimizer.zero_grad#SGD.zero_grad", 0, 200);
    for (int i = 0; i < 4; ++i) script.op("aten::zero_", 10 + i * 40, 30);
    script.op("aten::mm", 210, 20);
    for (int i = 0; i < additions; ++i) script.accumulate(300 + i * 40, 38).op("aten::add_", 305 + i * 40, 30);
    script.range("Optimizer.step#SGD.step", 900, 50).op("aten::_fused_sgd_", 905, 40);
    return Asked(script);
  };
  const Asked asked = with_additions(4);
  REQUIRE(asked.of("zero_grad_none"));
  CHECK(asked.of("zero_grad_none")->evidence.front().time == us(4 * 60));
  CHECK_FALSE(with_additions(8).of("zero_grad_none"));
  CHECK_FALSE(with_additions(0).of("zero_grad_none"));
}

TEST_CASE("time steps that are taken one by one ask for unbind") {
  // The first step of a sequence has nothing to be added to. `between`: evaluated after the selection, as the view that it is of.
  const auto with_steps = [](int steps, int sequences = 1, const std::string& between = "") {
    Script script;
    script.range("ProfilerStep#0", 0, 5000);
    for (int i = 0; i < steps * sequences; ++i) {
      const int at = i * 50;
      script.backward("SelectBackward0", at, 30).op("aten::select_backward", at + 5, 20);
      shaped(script, "[[32, 64], [], [], []]");
      if (!between.empty()) script.backward(between, at + 30, 15);
      if (i % steps > 0) script.op("aten::add_", at + (between.empty() ? 26 : 32), 3);
    }
    return Asked(script);
  };
  REQUIRE(with_steps(24).of("unbind_time"));
  CHECK(with_steps(24).of("unbind_time")->evidence.front().what == "x[t] is differentiated 24 times, each time into the whole sequence");
  CHECK(with_steps(24).of("unbind_time")->evidence.front().time == us(24 * 20 + 23 * 3));
  CHECK(with_steps(17).of("unbind_time"));
  CHECK_FALSE(with_steps(16).of("unbind_time"));
  CHECK(with_steps(24, 1, "TransposeBackward0").of("unbind_time"));
  CHECK_FALSE(with_steps(24, 1, "MulBackward0").of("unbind_time"));  // it is another tensor that was added to

  // Sequences that are short, and single selections of many tensors, as of a first token in each layer.
  CHECK(with_steps(24, 2).of("unbind_time"));
  CHECK_FALSE(with_steps(12, 4).of("unbind_time"));
  CHECK_FALSE(with_steps(1, 48).of("unbind_time"));

  // Steps differ: of every second selection nothing is known.
  Script half;
  half.range("ProfilerStep#0", 0, 2000);
  for (int i = 0; i < 24; ++i) {
    half.backward("SelectBackward0", i * 50, 45).op("aten::select_backward", i * 50 + 5, 35);
    if (i % 2 == 0) shaped(half, "[[32, 64], [], [], []]");
    if (i > 0) half.op("aten::add_", i * 50 + 41, 3);
  }
  CHECK(Asked(half).of("unbind_time"));

  // Without shapes nothing tells that they are of one sequence, unless they are of one line.
  Script bare;
  bare.range("ProfilerStep#0", 0, 2000);
  for (int i = 0; i < 24; ++i) {
    bare.backward("SelectBackward0", i * 50, 45).op("aten::select_backward", i * 50 + 5, 35).op("aten::add_", i * 50 + 41, 3);
  }
  CHECK_FALSE(Asked(bare).of("unbind_time"));
}

TEST_CASE("a loop over time whose state is small says that a scan over its Jacobians may pay, a large one does not") {
  // A step of the loop takes 50 µs backward, of which its product of [samples, numbers] with a square takes 20.
  const auto note = [](std::int64_t samples, std::int64_t numbers, const std::string& square = "") {
    Script script;
    script.range("ProfilerStep#0", 0, 5000);
    const std::string state = "[" + std::to_string(samples) + ", " + std::to_string(numbers) + "]", side = std::to_string(numbers),
                      weights = square.empty() ? "[" + side + ", " + side + "]" : square;
    for (int i = 0; i < 24; ++i) {
      const int at = i * 50;
      script.op("aten::mm", at, 20);
      shaped(script, "[" + state + ", " + weights + "]");
      script.backward("SelectBackward0", at + 20, 30).op("aten::select_backward", at + 25, 20);
      shaped(script, "[[32, 64], [], [], []]");
      if (i > 0) script.op("aten::add_", at + 46, 3);
    }
    const Asked asked(script);
    REQUIRE(asked.of("unbind_time"));
    return asked.of("unbind_time")->note;
  };
  // Products do 2 · 8 · 2² operations in 20 µs, so 160 in the time of a step: more than the 128 of two Jacobians' product.
  CHECK(note(8, 2) ==
        "its state is small (8 × 2): a parallel scan over its steps' Jacobians (BPPSA) may pay too, as two multiply in 128 FLOP and a step "
        "has time for 160 FLOP");
  CHECK(note(8, 3).empty());  // 2 · 8 · 3³ are 432, and the products do 360
  CHECK(note(8, 2, "[2, 6]").empty());
}

TEST_CASE("GELU as a formula asks for the operator; a power or a tanh of another formula does not") {
  const auto with_operators = [](const std::vector<std::string>& names) {
    Script script;
    script.range("ProfilerStep#0", 0, 1000);
    std::int64_t at = 0;
    for (const std::string& name : names) script.op(name, at += 60, 50);
    return Asked(script);
  };
  CHECK(with_operators({"aten::mul", "aten::pow", "aten::mul", "aten::add", "aten::mul", "aten::tanh", "aten::add", "aten::mul"})
            .of("gelu_tanh"));
  CHECK_FALSE(with_operators({"aten::pow", "aten::mul", "aten::linear", "aten::tanh", "aten::add", "aten::mul"}).of("gelu_tanh"));
  CHECK_FALSE(with_operators({"aten::pow", "aten::mul", "aten::add", "aten::mul"}).of("gelu_tanh"));
}

TEST_CASE("many page faults ask for memory that is kept, where glibc gives it back") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000).op("aten::mm", 100, 800);
  // Of a step of 2 ms without the profiler.
  const auto with_faults = [&](std::int64_t count, bool can_end = true) {
    return Asked(script, "unclear", profile::PageFaults{.count = count, .each = us(2), .step = us(2000), .can_end = can_end});
  };
  const Asked asked = with_faults(400);
  REQUIRE(asked.of("keep_freed"));
  CHECK(asked.of("keep_freed")->evidence.front().what == "400 page faults in a step of 2.00 ms without the profiler");
  CHECK(asked.of("keep_freed")->evidence.front().time == us(800));
  CHECK(asked.of("keep_freed")->least_ratio == Approx(0.6));
  CHECK(with_faults(50).of("keep_freed"));
  CHECK_FALSE(with_faults(49).of("keep_freed"));
  CHECK_FALSE(with_faults(400, false).of("keep_freed"));
  CHECK_FALSE(Asked(script).of("keep_freed"));

  // The host's share is nobody's wait where the device is the limit.
  Script busy;
  busy.range("ProfilerStep#0", 0, 1000).op("aten::mm", 0, 20).launch(1, 5, 5).kernel("gemm", 1, 20, 970);
  wait_for_all(busy, 30);
  const profile::PageFaults many{.count = 400, .each = us(2), .step = us(2000), .can_end = true};
  CHECK_FALSE(Asked(busy, "unclear", many).of("keep_freed"));
}

TEST_CASE("convolutions that cuDNN chose without trying others ask for that, where all steps are alike") {
  // Two steps of 1000 µs with a convolution of 300 µs and its backward pass of 500 µs.
  struct Steps {
    std::string operation = "aten::cudnn_convolution", kernel = "sm80_xmma_fprop_implicit_gemm_f32f32", last_kernel = kernel;
    std::string shapes = {}, last_shapes = {};
    std::int64_t steps = 2, last_batch = 4096;
  };
  const auto script_of = [](const Steps& of) {
    Script script;
    for (std::int64_t i = 0; i < of.steps; ++i) {
      const bool last = i + 1 == of.steps;
      const std::int64_t at = i * 1000, n = i * 10;
      script.range("ProfilerStep#" + std::to_string(i), at, 1000);
      script.op("aten::copy_", at, 9).launch(n + 1, at + 2, 5, "cudaMemcpyAsync").copy("Memcpy HtoD (Pinned -> Device)", n + 1, at + 8, 10);
      script.trace().transfers.event.push_back(static_cast<std::uint32_t>(script.trace().events.size() - 1));
      script.trace().transfers.bytes.push_back(last ? of.last_batch : 4096);
      script.op(of.operation, at + 10, 20);
      if (!of.shapes.empty()) shaped(script, last ? of.last_shapes : of.shapes);
      script.launch(n + 2, at + 15, 5).kernel(last ? of.last_kernel : of.kernel, n + 2, at + 30, 300);
      script.op("aten::convolution_backward", at + 40, 20).launch(n + 3, at + 45, 5).kernel(of.kernel, n + 3, at + 330, 500);
      script.op("aten::item", at + 70, 925).launch(n + 4, at + 75, 900, "cudaStreamSynchronize");
    }
    return script;
  };
  const auto asked = [&](const Steps& of, std::optional<bool> tried = false) { return Asked(script_of(of), "unclear", {}, tried); };

  const Asked found = asked({});
  REQUIRE(found.of("cudnn_benchmark"));
  const profile::Finding& finding = *found.of("cudnn_benchmark");
  CHECK(finding.evidence.front().what ==
        "2 kernels of convolutions that cuDNN chose without trying others, 98.8 % of the device's time, the same in each of 2 steps");
  CHECK(finding.evidence.front().time == us(800));
  CHECK(finding.only_measured);
  CHECK(finding.least_ratio == 1);
  CHECK(finding.at_most == Ns{});
  const std::string text = rules::finding_text(finding, us(1000), format::style(false));
  CHECK(text.contains("only runs tell how much: hotlens whatif cudnn_benchmark --verify"));
  CHECK_FALSE(text.contains("→"));

  // It is on, or nobody knows; one step tells nothing of others.
  for (const std::optional<bool> tried : {std::optional(true), std::optional<bool>()}) CHECK_FALSE(asked({}, tried).of("cudnn_benchmark"));
  CHECK_FALSE(asked({.steps = 1}).of("cudnn_benchmark"));
  // The last step has other shapes, another kernel, a larger batch.
  CHECK(asked({.shapes = "[[8, 3, 32, 32]]", .last_shapes = "[[8, 3, 32, 32]]"}).of("cudnn_benchmark"));
  CHECK_FALSE(asked({.shapes = "[[8, 3, 32, 32]]", .last_shapes = "[[8, 3, 48, 48]]"}).of("cudnn_benchmark"));
  CHECK_FALSE(asked({.last_kernel = "sm80_xmma_fprop_implicit_gemm_tf32f32"}).of("cudnn_benchmark"));
  CHECK_FALSE(asked({.last_batch = 5000}).of("cudnn_benchmark"));
  // torch's own kernels are nothing that cuDNN chooses, nor is a product.
  const std::string depthwise = "void at::native::conv_depthwise2d_forward_kernel<float>";
  CHECK_FALSE(asked({.kernel = depthwise}).of("cudnn_benchmark"));
  Script products = step_with_product();
  CHECK_FALSE(Asked(products, "unclear", {}, false).of("cudnn_benchmark"));
  // Without a device cuDNN has no part.
  Script host;
  for (int i = 0; i < 2; ++i) host.range("ProfilerStep#" + std::to_string(i), i * 1000, 1000).op("aten::cudnn_convolution", i * 1000, 900);
  CHECK_FALSE(Asked(host, "unclear", {}, false).of("cudnn_benchmark"));
}

TEST_CASE("findings are sorted by what they give, and tell it as a bound") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000).range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 500);
  script.op("aten::mm", 510, 20).launch(1, 515, 5).kernel("ampere_sgemm_128x64_tn", 1, 530, 465);
  wait_for_all(script, 540);
  const Asked asked(script);
  REQUIRE(asked.findings.size() == 2);
  CHECK(asked.findings.front().kind == "loader_workers");
  CHECK(asked.findings.back().kind == "lower_precision");
  const std::string text = rules::finding_text(asked.findings.front(), us(1000), format::style(false));
  CHECK(text.contains("at most −50 %: 1.00 ms → 500 µs"));
  CHECK_FALSE(text.contains("profiled"));
  // Beside a step that takes half as long without a profiler, times of the profiled one have a word.
  const std::string alone = rules::finding_text(asked.findings.front(), us(500), format::style(false));
  CHECK(alone.contains("at most −50 %: 500 µs → 250 µs"));
  CHECK(alone.contains(", 500 µs (profiled)\n"));
}

TEST_CASE("the report says what the step is sensitive to") {
  profile::Profile profile;
  CHECK(rules::findings_text(profile, format::style(false)).empty());
  profile.sensitivity = profile::Sensitivity{.kernels = 0.8, .host = 1};
  profile.communication_sensitivity = profile::CommunicationSensitivity{.hidden = 0.9, .without = 0.7};
  const std::string text = rules::findings_text(profile, format::style(false));
  CHECK(text.contains("if kernels took half their time −20 %, if the host did 0 %\n"));
  CHECK(text.contains("if communication were hidden behind computing −10 %, without communication −30 %\n"));
}
