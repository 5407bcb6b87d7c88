// What-ifs of ReLUs: in place, and behind a max-pool.
#include "annotator/lab/whatif/relu.h"

#include "annotator/lab/whatif/edits.h"
#include "tests/unit/lab/programs.h"

using namespace hotlens;
using namespace hotlens::lab;

namespace {

const json kTensors = {tensor("parameter", "layer.weight"), tensor("input", "x")};

json released(std::vector<json> ids) {
  return op("hotlens::free", std::move(ids));
}

// What makes 5, `between`, a ReLU of 5 that makes 6, and what comes then.
Program with_relu(const char* maker, const std::vector<json>& after = {}, const std::vector<json>& between = {}) {
  json all = json::array({op(maker, {t(1), t(0)}, 5)});
  for (const json& one : between) all.push_back(one);
  all.push_back(op("aten::relu", json::array({t(5)}), 6));
  for (const json& one : after) all.push_back(one);
  return program(kTensors, std::move(all));
}

}  // namespace

TEST_CASE("a ReLU writes over what nothing else needs, which is let go where its result was") {
  const Edit edit = done(inplace_relu(with_relu("aten::conv2d", {released({5}), op("aten::sum", json::array({t(6)}), 7), released({6})})));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::conv2d", "aten::relu_", "aten::sum", "hotlens::free"});
  CHECK(named(edit.program, "aten::relu_").out == std::vector<TensorId>{5});
  CHECK(tensor_of(argument(named(edit.program, "aten::sum"), 0, "self")) == 5);
  CHECK(edit.program.operators[3].args == Values{{TensorRef{5}}});
  CHECK(edit.evidence == "1 ReLU gets a tensor that nothing else needs");
  CHECK(edit.modules == std::vector<std::string>{"layer"});
  CHECK(reason(inplace_relu(edit.program)).contains("in place already"));

  // A variable holds the input for longer than the result.
  const Edit longer =
      done(inplace_relu(with_relu("aten::add", {op("aten::sum", json::array({t(6)}), 7), released({6}), released({7, 5})})));
  CHECK(names(longer.program) == std::vector<std::string>{"aten::add", "aten::relu_", "aten::sum", "hotlens::free"});
  CHECK(longer.program.operators[3].args.size() == 2);
}

TEST_CASE("a ReLU stays where its input is needed") {
  const auto stays = [](const Edited& edited) { return !edited; };
  CHECK(stays(inplace_relu(with_relu("aten::sigmoid"))));                                            // its backward pass reads its result
  CHECK(stays(inplace_relu(with_relu("aten::conv2d", {op("aten::sum", json::array({t(5)}), 7)}))));  // read behind the ReLU
  CHECK(stays(inplace_relu(with_relu("aten::conv2d", {}, {op("aten::exp", json::array({t(5)}), 7)}))));
  CHECK(stays(inplace_relu(with_relu("aten::view"))));
  CHECK(stays(inplace_relu(program(kTensors, json::array({op("aten::relu", json::array({t(1)}), 6)})))));  // the batch itself
  CHECK(stays(inplace_relu(with_relu("aten::conv2d", {}, {op("aten::sigmoid_", json::array({t(5)}), 5)}))));
  CHECK(done(inplace_relu(with_relu("aten::conv2d", {}, {op("aten::add_", {t(5), t(1)}, 5)}))).evidence.contains("1 ReLU"));
}

TEST_CASE("of a layer, or of the calls of a class, all ReLUs are in place or none") {
  json all = json::array({op("aten::conv2d", {t(1), t(0)}, 5), op("aten::relu", json::array({t(5)}), 6),
                          op("aten::sigmoid", json::array({t(6)}), 7), op("aten::relu", json::array({t(7)}), 8)});
  Program same = program(kTensors, all);
  CHECK(reason(inplace_relu(same)).contains("only ReLUs whose input nothing else needs"));
  same.modules = {"a", "b"};
  same.operators[3].module = 1;
  same.classes = {"Net", "Net"};  // two modules that run the same code
  CHECK(reason(inplace_relu(same)).contains("only ReLUs whose input nothing else needs"));
  same.classes = {"ReLU", "ReLU"};
  const Edit edit = done(inplace_relu(std::move(same)));
  CHECK(edit.modules == std::vector<std::string>{"a"});
  CHECK(names(edit.program) == std::vector<std::string>{"aten::conv2d", "aten::relu_", "aten::sigmoid", "aten::relu"});
}

TEST_CASE("a max-pool goes before the ReLU that only it reads") {
  const json pool = op("aten::max_pool2d", {t(6), {2, 2}}, 8);
  const Edit edit =
      done(pool_before_relu(with_relu("aten::conv2d", {released({5}), pool, released({6}), op("aten::sum", json::array({t(8)}), 9)})));
  CHECK(names(edit.program) ==
        std::vector<std::string>{"aten::conv2d", "aten::max_pool2d", "hotlens::free", "aten::relu", "hotlens::free", "aten::sum"});
  const Operator &first = edit.program.operators[1], &second = edit.program.operators[3];
  CHECK(tensor_of(&first.args[0]) == 5);
  CHECK(edit.program.operators[2].args == Values{{TensorRef{5}}});
  CHECK(tensor_of(&second.args[0]) == first.out[0]);
  CHECK(edit.program.operators[4].args == Values{{TensorRef{first.out[0]}}});
  CHECK(second.out == std::vector<TensorId>{8});
  CHECK(edit.evidence == "1 max-pool follows a ReLU whose result nothing else reads");
  CHECK(reason(pool_before_relu(edit.program)).contains("no max-pool is all"));
}

TEST_CASE("a ReLU in place is so behind its max-pool, too") {
  const Edit edit =
      done(pool_before_relu(program(kTensors, json::array({op("aten::conv2d", {t(1), t(0)}, 5), op("aten::relu_", json::array({t(5)}), 5),
                                                           op("aten::max_pool1d", {t(5), {2}}, 8), released({5})}))));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::conv2d", "aten::max_pool1d", "aten::relu_", "hotlens::free"});
  CHECK(edit.program.operators[1].out == std::vector<TensorId>{8});
  CHECK(edit.program.operators[2].out == std::vector<TensorId>{8});
}

TEST_CASE("other pools, and a ReLU that something else reads, stay") {
  CHECK(!pool_before_relu(with_relu("aten::conv2d", {op("aten::avg_pool2d", {t(6), {2, 2}}, 8)})));
  CHECK(!pool_before_relu(with_relu("aten::conv2d", {op("aten::max_pool2d_with_indices", {t(6), {2, 2}}, {8, 9})})));
  CHECK(!pool_before_relu(with_relu("aten::conv2d", {op("aten::max_pool2d", {t(6), {2, 2}}, 8), op("aten::sum", json::array({t(6)}), 9)})));
  CHECK(!pool_before_relu(
      program(kTensors, json::array({op("aten::sigmoid", json::array({t(1)}), 5), op("aten::max_pool2d", {t(5), {2}}, 8)}))));
}
