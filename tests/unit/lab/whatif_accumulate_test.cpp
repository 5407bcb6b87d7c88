// The batch in two halves, of a program that follows its batch size.
#include "annotator/lab/whatif/edits.h"
#include "tests/unit/lab/programs.h"

using namespace hotlens;
using namespace hotlens::lab;

namespace {

const json kBatch = {{"batch", {0, 1, 1}}};  // as many as samples

json following(const char* kind, json first = kBatch) {
  json of = tensor(kind, "x", {1, 4});
  of["shape"] = json::array({first, 4});
  of["storage_bytes"] = {{"batch", {0, 16, 1}}};
  return of;
}

// Weight 0, batch 1, what the step before left 2: zeros gradients, views and multiplies, takes the mean.
json step() {
  return json::array({op("hotlens::clear_gradient", {0}, nullptr, "zero_grad"), op("aten::view", {t(1), {kBatch, 2, 2}}, 3),
                      op("aten::mul", {t(3), t(0)}, 4), op("hotlens::free", {3, 2}), op("aten::mean", json::array({t(4)}), 5, "loss"),
                      op("aten::ones_like", json::array({t(5)}), 6, "loss"), op("hotlens::backward", {t(5), t(6)}, nullptr, "loss"),
                      op("hotlens::free", {6}, nullptr, "loss"), op("aten::add_", {t(0), 1}, 0, "optimizer"),
                      op("aten::item", json::array({t(5)}), nullptr, "other")});
}

Program of(json operators = step(), json third = following("other"), bool sized = true) {
  json tensors{tensor("parameter", "w", {2, 2}), following("input"), std::move(third)};
  json one = encode(program(json::array({tensor("parameter", "w")}), json::array()));
  if (sized) one["batch_size"] = kBatch;
  for (std::size_t at = 0; at < tensors.size(); ++at) tensors[at]["storage"] = at;
  one["tensors"] = std::move(tensors);
  one["operators"] = std::move(operators);
  auto read = decode(one);
  REQUIRE(read);
  return *std::move(read);
}

std::string refused(const Program& what) {
  return reason(accumulate(what));
}

}  // namespace

TEST_CASE("forward and backward run for each half, the update and what follows it once") {
  const Edit edit = done(accumulate(of()));
  CHECK(names(edit.program) == std::vector<std::string>{"aten::chunk",       "hotlens::clear_gradient",
                                                        "aten::view",        "aten::mul",
                                                        "hotlens::free",     "aten::mean",
                                                        "aten::ones_like",   "aten::div",
                                                        "hotlens::backward", "hotlens::free",
                                                        "hotlens::free",     "aten::view",
                                                        "aten::mul",         "hotlens::free",
                                                        "hotlens::free",     "aten::mean",
                                                        "hotlens::free",     "aten::ones_like",
                                                        "aten::div",         "hotlens::backward",
                                                        "hotlens::free",     "hotlens::free",
                                                        "hotlens::free",     "hotlens::free",
                                                        "aten::add_",        "aten::item"});
  const auto& all = edit.program.operators;
  const TensorId first = all[0].out[0], second = all[0].out[1];
  CHECK(all[0].args == Values{{TensorRef{1}}, {Whole{2}}, {Whole{0}}});
  CHECK(tensor_of(&all[2].args[0]) == first);
  CHECK(tensor_of(&all[11].args[0]) == second);
  CHECK(std::get<Values>(all[2].args[1].is)[0] == Value{Whole{.offset = 0, .numerator = 1, .denominator = 2}});
  CHECK(all[2].out != all[11].out);
  CHECK(all[11].out == std::vector<TensorId>{3});  // the second half has the recorded names
  CHECK(tensor_of(&all[8].args[0]) == all[7].out[0]);
  CHECK(tensor_of(&all[7].args[0]) == all[5].out[0]);  // of its own loss
  CHECK(all[4].args.size() == 2);                      // what the step before left goes once
  CHECK(edit.evidence == "4 operators run forward and backward once, with the whole batch");
}

TEST_CASE("what the script still holds of the first half goes when the second half binds its name anew") {
  const Edit edit = done(accumulate(of()));
  const auto& all = edit.program.operators;
  REQUIRE(all[12].name == "aten::mul");
  CHECK(tensor_of(&all[13].args[0]) == all[3].out[0]);
  CHECK(tensor_of(&all[16].args[0]) == all[5].out[0]);
}

TEST_CASE("an operator that gives back its input gives back the half") {
  json same = step();
  same.insert(same.begin() + 1, op("aten::flatten", json::array({t(1)}), 1));
  const Edit edit = done(accumulate(of(same)));
  const auto& all = edit.program.operators;
  REQUIRE(all[2].name == "aten::flatten");
  CHECK(all[2].out == std::vector<TensorId>{all[0].out[0]});
  CHECK(tensor_of(&all[3].args[0]) == all[0].out[0]);
}

TEST_CASE("what the step before left is of a half, too, but for its batch") {
  json logits = following("other");
  logits["shape"] = json::array({kBatch, 10});
  CHECK(done(accumulate(of(step(), logits))).program.tensors[2].shape[0] == Whole{.offset = 0, .numerator = 1, .denominator = 2});
  CHECK(done(accumulate(of())).program.tensors[2].shape[0] == Whole{.offset = 0, .numerator = 1, .denominator = 1});
}

TEST_CASE("a step that is no mean over one batch is refused") {
  CHECK(refused(of(step(), following("other"), false)) == "the step is known at one batch size alone");
  json twice = step();
  twice.push_back(op("hotlens::backward", {t(5), t(6)}, nullptr, "loss"));
  CHECK(refused(of(twice)).contains("not exactly one backward pass"));
  json state = step();
  state.insert(state.begin() + 1, op("aten::neg", json::array({t(2)}), 7));
  CHECK(refused(of(state)).contains("depends on the batch size, and is no batch"));
  json behind = step();
  behind.push_back(op("aten::neg", json::array({t(1)}), 7, "other"));
  CHECK(refused(of(behind)).contains("still takes the whole batch"));
  json early = step();
  early.insert(early.begin(), op("aten::add_", {t(0), 1}, 0, "optimizer"));
  CHECK(refused(of(early)).contains("before the backward pass"));
  json uneven = step();
  uneven[2]["args"][1] = t(2);
  CHECK(refused(of(uneven, following("input", {{"batch", {1, 1, 1}}}))).contains("no batch that can be halved"));
}
