// What-ifs that know a formula by its operators: attention, GELU, loops over time.
#include "annotator/lab/whatif/dataflow.h"
#include "annotator/lab/whatif/edits.h"
#include "tests/unit/lab/programs.h"

using namespace hotlens;
using namespace hotlens::lab;

namespace {

// With its overload, and the shape of its result.
json made(const char* name, std::vector<json> args, int out, const char* overload = "", json shape = {2, 4, 8, 8}) {
  json one = op(name, std::move(args), out);
  one["overload"] = overload;
  one["shapes"] = std::move(shape);
  return one;
}

json freed(std::vector<json> ids) {
  return op("hotlens::free", std::move(ids));
}

const json kInfinite = {{"inf", -1}};

// q, k, v; a mask of truth values, one of numbers.
json attention_tensors() {
  return {tensor("input", "q", {2, 4, 8, 16}), tensor("input", "k", {2, 4, 8, 16}), tensor("input", "v", {2, 4, 8, 16}),
          tensor("buffer", "mask", {8, 8}, "bool"), tensor("buffer", "bias", {8, 8})};
}

// Product, `between`, softmax, `behind`, product. What is between reads 6 and leaves 20, what is behind reads 21 and leaves 30.
Program attention(const std::vector<json>& between, const std::vector<json>& behind = {}, const std::vector<json>& after = {}) {
  json all =
      json::array({made("aten::transpose", {t(1), -2, -1}, 5, "int", {2, 4, 16, 8}), made("aten::matmul", {t(0), t(5)}, 6), freed({5})});
  for (const json& one : between) all.push_back(one);
  all.push_back(made("aten::softmax", {t(between.empty() ? 6 : 20), -1}, 21, "int"));
  for (const json& one : behind) all.push_back(one);
  all.push_back(made("aten::matmul", {t(behind.empty() ? 21 : 30), t(2)}, 40, "", {2, 4, 8, 16}));
  for (const json& one : after) all.push_back(one);
  return program(attention_tensors(), all);
}

const Value* given(const Program& of, std::string_view name) {
  return argument(named(of, "aten::scaled_dot_product_attention"), 9, name);
}

TensorId mask_of(const Program& of) {
  return tensor_of(given(of, "attn_mask"));
}

}  // namespace

TEST_CASE("a scaled attention is one operator, on the keys as they were") {
  const Edit edit =
      done(fused_attention(attention({made("aten::mul", {t(6), 0.25}, 20, "Tensor"), freed({6})}, {}, {freed({21, 20, 40})})));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::scaled_dot_product_attention", "hotlens::free"});
  const Operator& fused = edit.program.operators[0];
  CHECK(fused.args == Values{{TensorRef{0}}, {TensorRef{1}}, {TensorRef{2}}});
  CHECK(number(given(edit.program, "scale")) == 0.25);
  CHECK(number(given(edit.program, "dropout_p")) == 0.0);
  CHECK(given(edit.program, "attn_mask") == nullptr);
  CHECK(fused.out == std::vector<TensorId>{40});
  CHECK(edit.program.operators[1].args == Values{{TensorRef{40}}});  // what the formula made is gone, and so are its releases
  CHECK(edit.evidence == "1 attention as product, softmax, product");
  CHECK(edit.modules == std::vector<std::string>{"layer"});
  CHECK(reason(fused_attention(edit.program)).contains("no product, softmax and product"));
}

TEST_CASE("numbers on the way become the scale, also one in a tensor") {
  json eight = made("aten::full", {json::array(), 8}, 22, "", json::array());
  const Edit edit =
      done(fused_attention(attention({made("aten::mul", {t(6), 2}, 19, "Tensor"), eight, made("aten::div_", {t(19), t(22)}, 19, "Tensor"),
                                      made("aten::to", {t(19), {{"dtype", "float32"}}}, 20, "dtype")})));
  CHECK(number(given(edit.program, "scale")) == 0.25);
}

TEST_CASE("a mask of truth values is turned, one of numbers is added, both become one") {
  const json filled = made("aten::masked_fill", {t(6), t(3), kInfinite}, 20, "Scalar");
  const Edit drop = done(fused_attention(attention({filled})));
  CHECK(names(drop.program) == std::vector<std::string>{"aten::logical_not", "aten::scaled_dot_product_attention", "hotlens::free"});
  CHECK(mask_of(drop.program) == drop.program.operators[0].out[0]);
  CHECK(tensor_of(&drop.program.operators[2].args[0]) == mask_of(drop.program));  // a value on the way

  const Edit keep = done(fused_attention(attention({made("aten::where", {t(3), t(6), -1e9}, 20, "ScalarOther")})));
  CHECK(names(keep.program) == std::vector<std::string>{"aten::scaled_dot_product_attention"});
  CHECK(mask_of(keep.program) == 3);

  const Edit added = done(fused_attention(attention({made("aten::add", {t(6), t(4)}, 20, "Tensor")})));
  CHECK(mask_of(added.program) == 4);

  const Edit both = done(fused_attention(
      attention({made("aten::add", {t(6), t(4)}, 19, "Tensor"), made("aten::masked_fill", {t(19), t(3), kInfinite}, 20, "Scalar")})));
  CHECK(names(both.program) == std::vector<std::string>{"aten::masked_fill", "aten::scaled_dot_product_attention", "hotlens::free"});
  CHECK(tensor_of(argument(named(both.program, "aten::masked_fill"), 0, "self")) == 4);
}

TEST_CASE("dropout of the weights is the operator's own, and said") {
  const Edit edit = done(fused_attention(attention({}, {made("aten::dropout", {t(21), 0.1, true}, 30)})));
  CHECK(number(given(edit.program, "dropout_p")) == 0.1);
  CHECK(edit.evidence.contains("1 with dropout, which torch does not fuse on a CPU"));
  const Edit off = done(fused_attention(attention({}, {made("aten::dropout", {t(21), 0.1, false}, 30)})));
  CHECK(number(given(off.program, "dropout_p")) == 0.0);
  CHECK(!off.evidence.contains("dropout"));
}

TEST_CASE("what the operator needs is let go after it") {
  const Edit edit = done(fused_attention(attention({freed({0, 1}), made("aten::mul", {t(6), 0.25}, 20, "Tensor")})));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::scaled_dot_product_attention", "hotlens::free"});
  CHECK(edit.program.operators[1].args == Values{{TensorRef{0}}, {TensorRef{1}}});
}

TEST_CASE("keys that come turned are turned back; baddbmm brings its mask") {
  const Edit turned = done(fused_attention(
      program(attention_tensors(), json::array({made("aten::permute", {t(1), {0, 1, 3, 2}}, 5), made("aten::matmul", {t(0), t(5)}, 6),
                                                made("aten::softmax", {t(6), 3}, 21, "int"), made("aten::matmul", {t(21), t(2)}, 40)}))));
  CHECK(names(turned.program) ==
        std::vector<std::string>{"aten::permute", "aten::transpose", "aten::scaled_dot_product_attention", "hotlens::free"});
  json product = made("aten::baddbmm", {t(4), t(0), t(5)}, 6);
  product["kwargs"] = {{"alpha", 0.5}};
  const Edit added = done(fused_attention(
      program(attention_tensors(), json::array({made("aten::transpose", {t(1), 2, 3}, 5, "int"), product,
                                                made("aten::softmax", {t(6), -1}, 21, "int"), made("aten::bmm", {t(21), t(2)}, 40)}))));
  CHECK(mask_of(added.program) == 4);
  CHECK(number(given(added.program, "scale")) == 0.5);
}

TEST_CASE("an attention that something else looks into stays, with the operator that does") {
  const auto weights = fused_attention(attention({}, {}, {made("aten::mean", {t(21)}, 41)}));
  CHECK(reason(weights).contains("weights of the attention are read by something else"));
  CHECK(weights.error().op == "aten::mean");
  CHECK(weights.error().module == "layer");
  CHECK(reason(fused_attention(attention({made("aten::mul", {t(6), 0.5}, 20, "Tensor")}, {}, {made("aten::mean", {t(6)}, 41)})))
            .contains("scores of the attention are read"));
}

TEST_CASE("what the fused operator cannot do is refused") {
  const auto between = [](std::vector<json> some) { return reason(fused_attention(attention(some))); };
  CHECK(between({made("aten::mul", {t(6), t(4)}, 20, "Tensor")}).contains("scaled by a tensor"));
  CHECK(between({made("aten::add", {t(6), t(4)}, 19, "Tensor"), made("aten::mul", {t(19), 2}, 20, "Tensor")}).contains("after the mask"));
  CHECK(between({made("aten::add", {t(6), 1}, 20, "Tensor")}).contains("no mask"));
  CHECK(between({made("aten::masked_fill", {t(6), t(3), -5}, 20, "Scalar")}).contains("something else than a mask"));
  CHECK(between({made("aten::dropout", {t(6), 0.1, true}, 20)}).contains("before the softmax"));
  CHECK(between({made("aten::tanh", {t(6)}, 20)}).contains("no product, softmax and product"));
  json columns = json::array(
      {made("aten::matmul", {t(0), t(1)}, 6), made("aten::softmax", {t(6), 1}, 21, "int"), made("aten::matmul", {t(21), t(2)}, 40)});
  CHECK(reason(fused_attention(program(attention_tensors(), columns))).contains("not over the last dimension"));
  const json alone = json::array({made("aten::matmul", {t(0), t(1)}, 6), made("aten::softmax", {t(6), -1}, 21, "int")});
  CHECK(reason(fused_attention(program(attention_tensors(), alone))).contains("no product, softmax and product"));
}

namespace {

// 0.5 · x · (1 + tanh(factor · (x + 0.044715 · x³))) of tensor 0, which a linear layer made.
json gelu(double factor = 0.7978845608028654) {
  return json::array({made("aten::linear", {t(1), t(2)}, 3), made("aten::mul", {t(3), 0.5}, 4, "Tensor"),
                      made("aten::pow", {t(3), 3.0}, 5, "Tensor_Scalar"), made("aten::mul", {t(5), 0.044715}, 6, "Tensor"), freed({5}),
                      made("aten::add", {t(3), t(6)}, 7, "Tensor"), made("aten::mul", {t(7), factor}, 8, "Tensor"),
                      made("aten::tanh", {t(8)}, 9), made("aten::add", {t(9), 1.0}, 10, "Tensor"), freed({9, 3}),
                      made("aten::mul", {t(4), t(10)}, 11, "Tensor"), made("aten::linear", {t(11), t(2)}, 12), freed({4, 10})});
}

json gelu_tensors() {
  return {tensor("other", "unused"), tensor("input", "x"), tensor("parameter", "w")};
}

}  // namespace

TEST_CASE("GELU's formula is one operator, whose input stays until then") {
  const Edit edit = done(gelu_tanh(program(gelu_tensors(), gelu())));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::linear", "aten::gelu", "hotlens::free", "aten::linear"});
  const Operator& one = edit.program.operators[1];
  CHECK(one.args == Values{{TensorRef{3}}});
  CHECK(*argument(one, 9, "approximate") == Value{std::string("tanh")});
  CHECK(one.out == std::vector<TensorId>{11});
  CHECK(edit.program.operators[2].args == Values{{TensorRef{3}}});
  CHECK(edit.evidence == "8 operators compute 1 GELU by its formula");
  CHECK(reason(gelu_tanh(edit.program)).contains("no operators compute"));
}

TEST_CASE("GELU is told by its values, whatever its spelling") {
  const json other =
      json::array({made("aten::mul", {t(1), 0.044715}, 4, "Tensor"), made("aten::mul", {t(4), t(1)}, 5, "Tensor"),
                   made("aten::add_", {t(5), 1}, 5, "Tensor"), made("aten::mul", {t(1), 0.79788456}, 6, "Tensor"),
                   made("aten::mul_", {t(6), t(5)}, 6, "Tensor"), made("aten::tanh_", {t(6)}, 6), made("aten::add", {t(6), 1}, 7, "Tensor"),
                   made("aten::div", {t(7), 2}, 8, "Tensor"), made("aten::mul", {t(1), t(8)}, 9, "Tensor")});
  const Edit edit = done(gelu_tanh(program(gelu_tensors(), other)));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::gelu"});
  CHECK(edit.program.operators[0].args == Values{{TensorRef{1}}});
}

TEST_CASE("another formula, or one that is looked into, is no GELU") {
  CHECK(reason(gelu_tanh(program(gelu_tensors(), gelu(0.81)))).contains("no operators compute"));
  json read = gelu();
  read.push_back(made("aten::mean", {t(10)}, 13));
  const auto refused = gelu_tanh(program(gelu_tensors(), read));
  CHECK(reason(refused).contains("read by something else"));
  CHECK(refused.error().op == "aten::mean");
}

namespace {

// A sequence of 6 steps that layers made, [6, 3]; then x[t] for these t, each added to a sum.
Program loop(const std::vector<int>& steps, bool differentiated = true, const std::vector<json>& after = {}) {
  json x = tensor("parameter", "w", {6, 3});
  x["requires_grad"] = differentiated;
  json all = json::array({made("aten::mul", {t(0), 2}, 1, "Tensor", {6, 3})});
  int id = 2;
  for (const int step : steps) {
    all.push_back(made("aten::select", {t(1), 0, step}, id, "int", json::array({3})));
    all.push_back(made("aten::mul", {t(id), 3}, id + 1, "Tensor", json::array({3})));
    all.push_back(freed({id}));
    id += 2;
  }
  for (const json& one : after) all.push_back(one);
  return program(json::array({x}), all);
}

}  // namespace

TEST_CASE("steps of a loop become one unbind, equal ones the same tensor") {
  const Edit edit = done(unbind_time(loop({0, 1, 1, 3, -1})));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::mul", "aten::unbind", "aten::mul", "aten::mul", "aten::mul", "aten::mul",
                                                        "aten::mul", "hotlens::free"});
  const Operator& unbind = edit.program.operators[1];
  CHECK(unbind.out == std::vector<TensorId>{2, 4, kNoTensor, 8, kNoTensor, 10});
  CHECK(unbind.args == Values{{TensorRef{1}}, {Whole{0}}});
  CHECK(tensor_of(&edit.program.operators[4].args[0]) == 4);  // the second x[1]
  CHECK(edit.program.operators.back().args.size() == 4);      // the list goes at the end
  CHECK(edit.evidence.starts_with("x[t] is taken 5 times from 1 sequence"));
  CHECK(reason(unbind_time(edit.program)).contains("no sequence"));
}

TEST_CASE("a few parts of a tensor are no loop, and one without gradients gains nothing") {
  CHECK(reason(unbind_time(loop({0, 1, 2}))).contains("no sequence that is differentiated"));
  CHECK(reason(unbind_time(loop({0, 1, 2, 3}, false))).contains("no sequence that is differentiated"));
}

TEST_CASE("a step that is written to is refused at the operator that does") {
  const auto refused = unbind_time(
      loop({0, 1, 2, 3}, true, {made("aten::select", {t(1), 0, 4}, 20, "int", json::array({3})), made("aten::zero_", {t(20)}, 20)}));
  CHECK(reason(refused).contains("changed in place"));
  CHECK(refused.error().op == "aten::zero_");
}

TEST_CASE("a tensor that is changed in place has a maker for each of its versions") {
  const Program of = program(json::array({tensor("input", "x")}),
                             json::array({made("aten::mul", {t(0), 2}, 1, "Tensor"), made("aten::add_", {t(1), 1}, 1, "Tensor"),
                                          made("aten::neg", {t(1)}, 2), freed({1})}));
  const Dataflow flow(of);
  CHECK(flow.maker(0, 4) == kNowhere);
  CHECK(flow.maker(1, 1) == 0);
  CHECK(flow.maker(1, 2) == 1);
  CHECK(flow.readers(1, 0) == std::vector<std::size_t>{1});
  CHECK(flow.readers(1, 1) == std::vector<std::size_t>{2});
  REQUIRE(flow.shape(0, 0) != nullptr);
  CHECK(flow.shape(0, 0)->size() == 1);
  CHECK(flow.shape(2, 3)->size() == 4);
  CHECK(base_name(of.operators[1]) == "add");
}
