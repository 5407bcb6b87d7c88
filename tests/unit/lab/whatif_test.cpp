#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "annotator/lab/edited/edited.h"
#include "annotator/lab/whatif/dataflow.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/outcome.h"
#include "annotator/lab/whatif/update.h"
#include "server/lab/page_faults.h"
#include "tests/unit/catch.h"
#include "tests/unit/lab/programs.h"

using namespace hotlens;
using namespace hotlens::lab;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// One parameter with the state of Adam.
json adam_tensors() {
  return {tensor("parameter", "layer.weight"), tensor("state", "exp_avg of layer.weight"), tensor("state", "exp_avg_sq of layer.weight"),
          tensor("state", "step of layer.weight", {})};
}

json adam_loop() {
  const json gradient{{"gradient", 0}};
  return json::array({op("hotlens::backward", json::array({t(0)}), nullptr, "loss"), op("aten::add_", {t(3), 1}, 3, "optimizer"),
                      op("aten::lerp_", {t(1), gradient, 0.1}, 1, "optimizer"), op("aten::mul_", {t(2), 0.999}, 2, "optimizer"),
                      op("aten::addcmul_", {t(2), gradient, gradient}, 2, "optimizer"),
                      op("aten::item", json::array({t(3)}), nullptr, "optimizer"), op("aten::sqrt", json::array({t(2)}), 4, "optimizer"),
                      op("aten::div", {t(4), 0.5}, 5, "optimizer"), op("hotlens::free", {4}, nullptr, "optimizer"),
                      op("aten::add_", {t(5), 1e-8}, 5, "optimizer"), op("aten::addcdiv_", {t(0), t(1), t(5), -0.01}, 0, "optimizer"),
                      op("hotlens::free", {5}, nullptr, "loss")});
}

Replays replays_of(std::vector<Ns> times) {
  return {.batch = 8, .times = std::move(times), .start = {}, .peak = {}, .events = {}};
}

}  // namespace

TEST_CASE("a program that is encoded decodes to itself") {
  json operators = json::array({op("aten::add",
                                   json::array({t(0),
                                                {{"gradient", 0}},
                                                3,
                                                0.5,
                                                2.0,
                                                true,
                                                nullptr,
                                                "mean",
                                                {{"inf", -1}},
                                                {{"complex", {1.5, -2.0}}},
                                                {1, 2},
                                                {{"dtype", "bfloat16"}},
                                                {{"memory_format", "channels_last"}},
                                                {{"batch", {1, 2, 3}}}}),
                                   {1, nullptr}),
                                op("hotlens::free", {1})});
  operators[0]["kwargs"] = {{"alpha", 2}};
  operators[0]["autocast"] = "bfloat16";
  operators[0]["grad"] = false;
  json number = tensor("buffer", "count", {}, "int64");
  number["value"] = 6;
  json index = tensor("input", "index", {3}, "int64");
  index["min"] = 0;
  index["max"] = 9;
  index["slices"] = {{{"dim", 0}, {"min", {0, 2, 5}}, {"max", {1, 9, 5}}}};
  json range = tensor("buffer", "range");
  range["min"] = -0.5;
  range["max"] = 1.0;
  json state = tensor("state", "exp_avg of layer.weight");
  state["zeros"] = 0.75;
  const Program once = program({tensor("parameter", "layer.weight"), number, index, range, state}, operators);
  const json document = encode(once);
  const auto twice = decode(document);
  REQUIRE(twice);
  CHECK(encode(*twice) == document);
  CHECK(twice->operators[0].args == once.operators[0].args);
  CHECK(twice->operators[0].kwargs == once.operators[0].kwargs);
  CHECK(twice->operators[0].out == once.operators[0].out);
  CHECK(twice->operators[0].autocast == "bfloat16");
  CHECK(!twice->operators[0].grad);
  CHECK(twice->operators[0].stage == Stage::forward);
  CHECK(twice->operators[1].kind == OperatorKind::free);
  CHECK(twice->tensors[1].value == once.tensors[1].value);
  CHECK(twice->tensors[2].most == Whole{9});
  CHECK(twice->tensors[3].range == std::pair(-0.5, 1.0));
  CHECK(twice->tensors[4].zeros == 0.75);
}

TEST_CASE("a bias before a batch norm in training goes with its update") {
  const auto step = [](bool trains, const std::vector<json>& more = {}) {
    json all = json::array(
        {op("aten::conv2d", {t(2), t(0), t(1)}, 6), op("aten::batch_norm", {t(6), nullptr, nullptr, nullptr, nullptr, trains}, 7)});
    for (const json& one : more) all.push_back(one);
    all.push_back(op("hotlens::backward", json::array({t(7)}), nullptr, "loss"));
    for (int id : {0, 1}) all.push_back(op("aten::add_", {t(id), {{"gradient", id}}}, id, "optimizer"));
    all.push_back(op("aten::_foreach_mul_", json::array({json::array({t(0), t(1)}), 0.5}), {0, 1}, "optimizer"));
    for (std::size_t at = 3 + more.size(); at < all.size(); ++at) all[at]["module"] = nullptr;
    return program({tensor("parameter", "layer.weight"), tensor("parameter", "layer.bias"), tensor("input", "x"),
                    tensor("state", "buf of layer.bias"), tensor("buffer", "a"), tensor("buffer", "b")},
                   std::move(all));
  };
  const Edit edit = done(no_conv_bias(step(true)));
  CHECK(edit.evidence == "1 layer adds a bias, which the batch norm behind takes off again");
  CHECK(edit.modules == std::vector<std::string>{"layer"});
  CHECK(names(edit.program) ==
        std::vector<std::string>{"aten::conv2d", "aten::batch_norm", "hotlens::backward", "aten::add_", "aten::_foreach_mul_"});
  CHECK(named(edit.program, "aten::conv2d").args[2] == Value{Nothing{}});
  CHECK(std::get<Values>(named(edit.program, "aten::_foreach_mul_").args[0].is).size() == 1);
  CHECK(edit.program.tensors.size() == 4);  // its state is gone, too
  CHECK(reason(no_conv_bias(edit.program)).contains("no layer adds a bias"));

  CHECK(reason(no_conv_bias(step(false))).contains("no layer adds a bias"));                                // running statistics
  CHECK(reason(no_conv_bias(step(true, {op("aten::relu", {t(6)}, 8)}))).contains("no layer adds a bias"));  // read by something else
  CHECK(reason(no_conv_bias(step(true, {op("aten::conv2d", {t(2), t(0), t(1)}, 8)}))).contains("no layer adds a bias"));  // used twice
  CHECK(reason(no_conv_bias(step(true, {op("aten::sum", json::array({t(1)}), 8)}))).contains("no layer adds a bias"));
}

TEST_CASE("a fused Adam is one operator, with the numbers of the loop and without its temporaries") {
  const Edit edit = done(fused_optimizer(program(adam_tensors(), adam_loop())));
  CHECK(names(edit.program) == std::vector<std::string>{"hotlens::backward", "aten::_foreach_add_", "aten::_fused_adam_"});
  const Operator& fused = named(edit.program, "aten::_fused_adam_");
  CHECK(std::get<Values>(fused.args[1].is) == Values{{GradientRef{0}}});
  CHECK(std::get<Values>(fused.args[5].is) == Values{{TensorRef{3}}});
  CHECK(number(argument(fused, 9, "beta1")).value() == Approx(0.9));
  CHECK(number(argument(fused, 9, "beta2")).value() == Approx(0.999));
  CHECK(number(argument(fused, 9, "eps")).value() == Approx(1e-8));
  CHECK(number(argument(fused, 9, "lr")).value() == Approx(0.01));
  CHECK(edit.evidence == "9 operators update 1 parameter");
}

TEST_CASE("weight decay that is no part of the gradient makes it AdamW") {
  json operators = adam_loop();
  operators.insert(operators.begin() + 2, op("aten::mul_", {t(0), 0.99}, 0, "optimizer"));
  const Edit edit = done(fused_optimizer(program(adam_tensors(), operators)));
  CHECK(number(argument(named(edit.program, "aten::_fused_adamw_"), 9, "weight_decay")).value() == Approx(1));
}

TEST_CASE("a foreach Adam has one list of temporaries, which it lets go") {
  const Edit edit = done(foreach_optimizer(program(adam_tensors(), adam_loop())));
  const Operator& root = named(edit.program, "aten::_foreach_sqrt");
  REQUIRE(root.out.size() == 1);
  CHECK(edit.program.operators.back().kind == OperatorKind::free);
  CHECK(tensor_of(&edit.program.operators.back().args[0]) == root.out[0]);
  CHECK(std::ranges::count(names(edit.program), "aten::item") == 2);  // a correction for each moment
  const Edit both = done(fused_optimizer(edit.program));
  CHECK(names(both.program).back() == "aten::_fused_adam_");
  CHECK(reason(foreach_optimizer(edit.program)).contains("lists or is fused"));
  CHECK(reason(fused_optimizer(both.program)).contains("fused already"));
}

TEST_CASE("SGD is read with and without its momentum") {
  const json gradient{{"gradient", 0}};
  json plain = op("aten::add_", {t(0), gradient}, 0, "optimizer");
  plain["kwargs"] = {{"alpha", -0.1}};
  const Edit bare = done(fused_optimizer(program(json::array({tensor("parameter", "w")}), json::array({plain}))));
  const Operator& fused = named(bare.program, "aten::_fused_sgd_");
  CHECK(std::get<Values>(fused.args[2].is).empty());
  CHECK(number(argument(fused, 9, "lr")).value() == Approx(0.1));
  plain["args"] = {t(0), t(1)};
  const json operators =
      json::array({op("aten::mul_", {t(1), 0.9}, 1, "optimizer"), op("aten::add_", {t(1), gradient}, 1, "optimizer"), plain});
  const Edit moved = done(fused_optimizer(program({tensor("parameter", "w"), tensor("state", "momentum_buffer of w")}, operators)));
  CHECK(number(argument(named(moved.program, "aten::_fused_sgd_"), 9, "momentum")).value() == Approx(0.9));
}

TEST_CASE("an update that is something else is refused at its operator") {
  json operators = adam_loop();
  operators.insert(operators.begin() + 3, op("aten::sign", json::array({t(1)}), 6, "optimizer"));
  const Edited edited = fused_optimizer(program(adam_tensors(), operators));
  CHECK(reason(edited).contains("neither Adam, AdamW nor SGD"));
  CHECK(edited.error().op == "aten::sign");
  json other = adam_tensors();
  other[1]["name"] = "exp_inf of layer.weight";
  CHECK(reason(fused_optimizer(program(other, adam_loop()))).contains("neither"));
  json again = adam_loop();
  for (const json& one : adam_loop()) {
    if (one["stage"] == "optimizer") again.insert(again.end() - 1, one);
  }
  CHECK(reason(fused_optimizer(program(adam_tensors(), again))).contains("twice"));
  CHECK(reason(fused_optimizer(program(adam_tensors(), json::array()))).contains("no optimizer"));
}

TEST_CASE("parameters with another rule or device are updated by a call of their own") {
  const Program two =
      program({tensor("parameter", "a"), tensor("parameter", "b"), tensor("parameter", "c", {4}, "float64")}, json::array());
  Update update{.parameters = {{.parameter = 0}, {.parameter = 2}, {.parameter = 1}}};
  CHECK(groups(two, update).size() == 2);
  CHECK(groups(two, update)[0].size() == 2);
  update.parameters[2].rule.weight_decay = 0.1;
  CHECK(groups(two, update).size() == 3);
}

TEST_CASE("channels_last rearranges weights with their state, and copies images") {
  const json tensors{tensor("parameter", "w", {8, 3, 5, 7}), tensor("state", "exp_avg of w", {8, 3, 5, 7}),
                     tensor("input", "", {2, 3, 9, 9}), tensor("parameter", "b", {8})};
  const Edit edit = done(channels_last(program(tensors, json::array({op("aten::conv2d", {t(2), t(0), t(3)}, 4)}))));
  const std::vector<Whole> strides{{105}, {1}, {21}, {3}};
  CHECK(edit.program.tensors[0].stride == strides);
  CHECK(edit.program.tensors[1].stride == strides);
  CHECK(edit.program.tensors[3].stride == std::vector<Whole>{{1}});
  CHECK(names(edit.program) == std::vector<std::string>{"aten::contiguous", "hotlens::free", "aten::conv2d"});
  CHECK(tensor_of(&edit.program.operators[2].args[0]) == edit.program.operators[0].out[0]);
  CHECK(reason(channels_last(edit.program)).contains("already"));
  CHECK(reason(channels_last(program(tensors, json::array()))).contains("no layer"));
  const json view = op("aten::as_strided", json::array({t(2), {2, 3, 9, 9}, {243, 81, 9, 1}, 0}), 5);
  CHECK(reason(channels_last(program(tensors, json::array({op("aten::conv2d", {t(2), t(0)}, 4), view})))).contains("strides"));
}

TEST_CASE("a custom autograd function is one operator to an edit, and what it holds is followed") {
  json applied = op("hotlens::function", {t(1), nullptr}, json::array({2}));
  applied["kwargs"] = {{"name", "Scale"}, {"held", json::array({t(0)})}};
  applied["forward"] = json::array({op("aten::mul", {t(1), t(0)}, 2), op("hotlens::returned", {t(2)}), op("hotlens::save", {t(1)})});
  applied["backward"] = json::array(
      {op("hotlens::received", {}, json::array({3})), op("aten::mul", {t(3), t(0)}, 4), op("hotlens::returned", {t(4), nullptr})});
  const json tensors = json::array({tensor("parameter", "layer.weight"), tensor("input", "x")});
  const Program step =
      program(tensors, json::array({applied, op("aten::sum", {t(2)}, 5, "loss"), op("hotlens::backward", {t(5)}, nullptr)}));
  Operator renamed = step.operators[0];
  replace_tensor(renamed, 0, 9);
  CHECK(renamed.forward[0].args[1] == Value{TensorRef{9}});
  CHECK(renamed.backward[1].args[1] == Value{TensorRef{9}});
  CHECK(renamed.out == step.operators[0].out);
  const Dataflow flow(step);
  CHECK(flow.readers(0, kNowhere) == std::vector<std::size_t>{0});
  CHECK(flow.maker(2, 1) == 0);
  CHECK(reason(autocast_bf16(step)).contains("custom autograd function"));
}

TEST_CASE("autocast is on from the model to the loss, and what only the graph kept goes in time") {
  const json operators =
      json::array({op("aten::zeros_like", json::array({t(0)}), 2, "other"), op("aten::linear", {t(1), t(0)}, 3),
                   op("aten::relu", json::array({t(3)}), 4), op("aten::mean", json::array({t(4)}), 5, "loss"),
                   op("aten::ones_like", json::array({t(5)}), 6, "loss"), op("hotlens::free", {3}, nullptr, "loss"),
                   op("hotlens::backward", {t(5), t(6)}, nullptr, "loss"), op("aten::neg", json::array({t(5)}), 7, "loss")});
  const json tensors{tensor("parameter", "w", {4, 4}), tensor("input", "x", {4, 4})};
  const Edit edit = done(autocast_bf16(program(tensors, operators)));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::zeros_like", "aten::linear", "aten::relu", "hotlens::free", "aten::mean",
                                                        "hotlens::clear_autocast_cache", "aten::ones_like", "hotlens::backward",
                                                        "aten::neg"});
  for (const Operator& one : edit.program.operators) {
    const bool inside =
        one.name == "aten::linear" || one.name == "aten::relu" || one.name == "aten::mean" || one.kind == OperatorKind::free;
    CHECK(one.autocast == (inside ? "bfloat16" : ""));
  }
  CHECK(reason(autocast_bf16(edit.program)).contains("on already"));
  CHECK(reason(autocast_bf16(program(json::array({tensor("parameter", "w", {4}, "bfloat16")}), json::array()))).contains("float32"));
  CHECK(reason(autocast_bf16(program(tensors, json::array({operators[1]})))).contains("no backward"));
}

TEST_CASE("dropout is off wherever it is on") {
  const json tensors{tensor("input", "x"), tensor("parameter", "w")};
  const json lstm =
      op("aten::lstm", json::array({t(0), json::array({t(0)}), json::array({t(1)}), true, 2, 0.3, true, false, true}), {2, 3, 4});
  json packed = op("aten::lstm", json::array({t(0), t(0), json::array({t(0)}), json::array({t(1)}), true, 2, 0.3, true, false}), {5, 6, 7});
  packed["overload"] = "data";
  const Edit edit = done(no_dropout(program(
      tensors, json::array({op("aten::dropout", {t(0), 0.1, true}, 8), op("aten::dropout", {t(0), 0.1, false}, 9), lstm, packed}))));
  CHECK(number(&edit.program.operators[0].args[1]) == 0.0);
  CHECK(number(&edit.program.operators[1].args[1]) == 0.1);
  CHECK(number(&edit.program.operators[2].args[5]) == 0.0);
  CHECK(number(&edit.program.operators[3].args[5]) == 2.0);
  CHECK(number(&edit.program.operators[3].args[6]) == 0.0);
  CHECK(edit.evidence == "3 operators drop values");
  CHECK(edit.modules == std::vector<std::string>{"layer"});
  CHECK(reason(no_dropout(edit.program)).contains("no dropout"));
}

TEST_CASE("a GELU becomes a ReLU without the words for its approximation") {
  json gelu = op("aten::gelu", json::array({t(0)}), 1);
  gelu["kwargs"] = {{"approximate", "tanh"}};
  const Edit edit = done(gelu_to_relu(program(json::array({tensor("input", "x")}), json::array({gelu}))));
  CHECK(edit.program.operators[0].name == "aten::relu");
  CHECK(edit.program.operators[0].kwargs.empty());
  CHECK(reason(gelu_to_relu(edit.program)).contains("GELU"));
}

TEST_CASE("a batch norm in evaluation counts no batches; one without statistics stays") {
  const json tensors{tensor("input", "x"), tensor("buffer", "layer.running_mean"),
                     tensor("buffer", "layer.num_batches_tracked", {}, "int64")};
  const json count = op("aten::add_", {t(2), 1}, 2);
  const json norm = op("aten::batch_norm", {t(0), nullptr, nullptr, t(1), t(1), true, 0.1, 1e-5, true}, 3);
  const Edit edit = done(batch_norm_eval(program(tensors, json::array({count, norm}))));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::batch_norm"});
  CHECK(!is_true(&edit.program.operators[0].args[5]));
  const json without = op("aten::batch_norm", {t(0), nullptr, nullptr, nullptr, nullptr, true, 0.1, 1e-5, true}, 3);
  CHECK(reason(batch_norm_eval(program(tensors, json::array({count, without})))).contains("no batch norm"));
}

TEST_CASE("gradients that were zeros are None, at the start of the step too where the step before left them") {
  const json zero = op("aten::zero_", json::array({{{"gradient", 0}}}), nullptr, "zero_grad");
  const json backward = op("hotlens::backward", json::array({t(0)}), nullptr, "loss");
  const json tensors = json::array({tensor("parameter", "w")});
  const Edit before = done(zero_grad_none(program(tensors, json::array({zero, backward}))));
  CHECK(names(before.program) == std::vector<std::string>{"hotlens::clear_gradient", "hotlens::backward"});
  const Edit after = done(zero_grad_none(program(tensors, json::array({backward, zero}))));
  CHECK(names(after.program) == std::vector<std::string>{"hotlens::clear_gradient", "hotlens::backward", "hotlens::clear_gradient"});
  CHECK(reason(zero_grad_none(after.program)).contains("no gradient"));
}

TEST_CASE("a ratio is of neighbouring turns, and its interval holds what the kind is off by") {
  const auto same = ratio_of(replays_of({10ms, 20ms, 10ms}), replays_of({9ms, 18ms, 9ms}), 0.04);
  REQUIRE(same);
  CHECK(same->ratio == Approx(0.9));
  CHECK(same->high == Approx(0.9 * 1.04));
  CHECK(same->low == Approx(0.9 / 1.04));
  CHECK(same->faster());
  CHECK(!same->slower());
  const auto unsure = ratio_of(replays_of({10ms, 10ms, 10ms}), replays_of({9ms, 9ms, 9ms}), 0.2);
  REQUIRE(unsure);
  CHECK(!unsure->faster());
  const auto noisy = ratio_of(replays_of({10ms, 10ms, 10ms}), replays_of({6ms, 9ms, 14ms}), 0.01);
  REQUIRE(noisy);
  CHECK(!noisy->faster());
  CHECK(ratio_of(replays_of({10ms, 10ms}), replays_of({12ms, 12ms}), 0.04)->slower());
  CHECK(!ratio_of(replays_of({}), replays_of({1ms}), 0.04));
}

TEST_CASE("what no replay has stays as it is") {
  const Ratio whole = with_rest({.ratio = 0.5, .low = 0.4, .high = 1.2}, 0.5);
  CHECK(whole.ratio == Approx(0.75));
  CHECK(whole.low == Approx(0.7));
  CHECK(whole.high == Approx(1.1));
  CHECK(with_rest({.ratio = 0.5, .low = 0.4, .high = 1.2}, 0).ratio == Approx(0.5));
}

TEST_CASE("each kind has a name of its own, a file's function and an assumption") {
  for (const Kind& kind : kinds()) {
    CHECK(kind_named(kind.name) == &kind);
    CHECK(!kind.assumes.empty());
    CHECK((kind.error > 0) == (kind.edit != nullptr));  // what is not replayed predicts nothing
  }
  CHECK(kind_named("list") == nullptr);
}

TEST_CASE("text says what is certain and no more") {
  WhatIfs all{.profile = "p", .check = {}, .items = {}, .refused = {{"gelu_to_relu", {.reason = "no operator is a GELU"}}}, .faults = {}};
  all.items.push_back({.kind = "fused_optimizer",
                       .title = "Fused",
                       .evidence = {"434 operators update 62 parameters"},
                       .assumes = {"much"},
                       .modules = {},
                       .where = SourceLine{"train.py", 40},
                       .time = Ratio{.ratio = 0.87, .low = 0.84, .high = 0.9},
                       .step_was = 41'800us,
                       .step = 36'366us,
                       .peak_was = Bytes{84'000'000},
                       .peak = Bytes{80'000'000}});
  std::string text = as_text(all, false);
  CHECK(text.contains("train.py:41"));
  CHECK(text.contains("faster: ≈ −13 % (−16…−10), 41.8 ms → 36.4 ms; peak 84.0 MB → 80.0 MB"));
  CHECK(text.contains("gelu_to_relu  not here: no operator is a GELU"));
  CHECK(json::parse(as_json(all))["items"][0]["peak_bytes_change"] == -4'000'000);
  all.items[0].time->high = 1.02;
  all.items[0].peak = all.items[0].peak_was;
  text = as_text(all, false);
  CHECK(text.contains("no certain change: ≈ −13 % (−16…+2.0)"));
  CHECK(text.contains("peak 84.0 MB, unchanged"));
  all.items[0].peak = Bytes{83'999'000};
  CHECK(as_text(all, false).contains("peak 84.0 MB, −1.00 kB"));
  all.findings.push_back({.kind = "gelu_to_relu", .title = "ReLU", .least_ratio = 0.9});
  CHECK(as_text(all, false).contains("gelu_to_relu  not replayed: no operator is a GELU"));
}

TEST_CASE("a step that is mostly page faults excludes no change, and says why") {
  using hotlens::lab::much_faulting;
  const std::vector<Ns> steps{39ms, 40ms, 38ms};
  const auto faults = much_faulting({10'000, 10'100, 9'900}, steps, 2'400ns);
  REQUIRE(faults);
  CHECK(faults->time == 24ms);
  const Ratio ratio = unsure({.ratio = 0.8, .low = 0.75, .high = 0.85}, *faults);
  CHECK(!ratio.faster());
  CHECK(ratio.low == Approx(0.75 * 15 / 39));
  CHECK(!unsure({.ratio = 1.3, .low = 1.2, .high = 1.4}, *faults).slower());
  CHECK(sentence(*faults).starts_with("about 24.0 ms of the step's 39.0 ms are 10000 page faults"));
  CHECK(!much_faulting({1'000}, steps, 2'400ns));
  CHECK(!much_faulting({}, steps, 2'400ns));
  CHECK(much_faulting({std::numeric_limits<std::int64_t>::max()}, steps, 2'400ns)->time == 39ms);
  WhatIfs all{.profile = "p", .check = {}, .items = {}, .refused = {}, .faults = faults};
  CHECK(json::parse(as_json(all))["warnings"][0]["code"] == "page_faults");
  CHECK(as_text(all, false).starts_with("warning: about "));
  hotlens::lab::EditedStep step;
  CHECK(json::parse(as_json(step))["warnings"].empty());
  step.faults = faults;
  CHECK(json::parse(as_json(step))["warnings"][0]["count"] == 10'000);
  CHECK(as_text(step, false).contains("warning: about "));
}

TEST_CASE("touching memory costs time") {
  CHECK(cost_of_a_fault() > 0ns);
}

TEST_CASE("a longer start is paid back by what each step gains, or not at all") {
  Verdict faster{.pairs = 4, .time = {0.8, 0.79, 0.81}, .faster = true, .before = 10ms, .longer = 30s};
  CHECK(pays_back_after(faster) == 15'000);
  CHECK(startup_words(faster) == "starting takes 30.0 s longer, which is paid back after 15000 steps, 120 s of training");
  faster.longer = {};
  CHECK_FALSE(pays_back_after(faster));
  CHECK(startup_words(faster).empty());
  const Verdict none{.pairs = 4, .time = {1.01, 0.99, 1.03}, .before = 10ms, .longer = 30s};
  CHECK_FALSE(pays_back_after(none));
  CHECK(startup_words(none) == "starting takes 30.0 s longer");
}
