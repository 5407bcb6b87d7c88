#include "annotator/lab/program/program.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "annotator/lab/structure/releases.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::lab;
using nlohmann::json;

namespace {

json tensor(const char* kind = "input") {
  return {{"kind", kind}, {"shape", {2}}, {"stride", {1}}, {"dtype", "float32"}, {"device", "cpu"}, {"storage", 0}, {"storage_bytes", 8}};
}

json program(json operators) {
  return {{"format", 1},           {"device", "cpu"},
          {"threads", 2},          {"modules", {{{"path", "fc"}}}},
          {"tensors", {tensor()}}, {"operators", std::move(operators)}};
}

json op(const char* name, json args, json out = nullptr) {
  return {{"op", name}, {"overload", ""}, {"args", std::move(args)}, {"out", std::move(out)}};
}

Value argument(json value) {
  const auto read = decode(program(json::array({op("aten::relu", json::array({std::move(value)}), 1)})));
  REQUIRE(read);
  return read->operators[0].args[0];
}

std::string refusal(const json& document) {
  const auto read = decode(document);
  REQUIRE(!read);
  return read.error().message;
}

}  // namespace

TEST_CASE("each kind of argument is what the recorder meant") {
  CHECK(argument(json::parse(R"({"t": 0})")) == Value{TensorRef{0}});
  CHECK(argument(json::parse(R"({"gradient": 0})")) == Value{GradientRef{0}});
  CHECK(argument(nullptr) == Value{Nothing{}});
  CHECK(argument(true) == Value{true});
  CHECK(argument(3) == Value{Whole{3}});
  CHECK(argument(-0.5) == Value{-0.5});
  CHECK(argument("mean") == Value{std::string("mean")});
  CHECK(argument(json::parse(R"([1, [2.0]])")) == Value{Values{{Whole{1}}, {Values{{2.0}}}}});
  CHECK(argument(json::parse(R"({"dtype": "float16"})")) == Value{NamedValue{Named::dtype, "float16"}});
  CHECK(argument(json::parse(R"({"device": "cuda:1"})")) == Value{NamedValue{Named::device, "cuda:1"}});
  CHECK(argument(json::parse(R"({"memory_format": "channels_last"})")) == Value{NamedValue{Named::memory_format, "channels_last"}});
  CHECK(argument(json::parse(R"({"generator": null})")) == Value{Nothing{}});
  CHECK(argument(json::parse(R"({"complex": [1, -2.5]})")) == Value{Complex{1, -2.5}});
  CHECK(argument(json::parse(R"({"inf": -1})")) == Value{-std::numeric_limits<double>::infinity()});
  CHECK(std::isnan(std::get<double>(argument(json::parse(R"({"nan": 1})")).is)));
  CHECK(argument(json::parse(R"({"batch": [4, 1, 2]})")) == Value{Whole{4, 1, 2}});
}

TEST_CASE("a number that follows the batch size is whole or not at all") {
  CHECK(Whole{7}.at(1'000'000) == 7);
  CHECK(Whole{.offset = 0, .numerator = 64, .denominator = 1}.at(8) == 512);
  CHECK(Whole{.offset = 2, .numerator = 1, .denominator = 2}.at(8) == 5);
  CHECK(!Whole{.offset = 2, .numerator = 1, .denominator = 2}.at(7));
  CHECK(!Whole{.offset = 0, .numerator = std::int64_t{1} << 40, .denominator = 1}.at(std::int64_t{1} << 40));
}

TEST_CASE("results of lists are flat, and what nobody uses has no id") {
  const auto read =
      decode(program(json::array({op("aten::split", json::array({{{"t", 0}}, 1}), json::array({1, json::array({2, nullptr})}))})));
  REQUIRE(read);
  CHECK(read->operators[0].out == std::vector<TensorId>{1, 2, kNoTensor});
  CHECK(read->ids == 3);
}

TEST_CASE("the operators that are the recorder's own take ids") {
  const auto read = decode(
      program(json::array({op("hotlens::input", {0}), op("hotlens::free", {0}), op("hotlens::clear_autocast_cache", json::array())})));
  REQUIRE(read);
  CHECK(read->operators[0].kind == OperatorKind::input);
  CHECK(read->operators[1].args == Values{{TensorRef{0}}});
  CHECK(read->operators[2].kind == OperatorKind::clear_autocast_cache);
}

// One that gives twice its input: the product is its forward pass's own, but for what it leaves.
json application() {
  json applied = op("hotlens::function", json::array({{{"t", 0}}, nullptr}), json::array({1}));
  applied["kwargs"] = {{"name", "Twice"}};
  applied["forward"] = json::array({op("aten::mul", json::array({{{"t", 0}}, 2}), 1), op("hotlens::returned", json::array({{{"t", 1}}})),
                                    op("hotlens::save", json::array({{{"t", 0}}, nullptr}))});
  applied["backward"] =
      json::array({op("hotlens::received", json::array(), json::array({2})), op("hotlens::saved", json::array(), json::array({3, nullptr})),
                   op("aten::mul", json::array({{{"t", 2}}, {{"t", 3}}}), 4), op("hotlens::returned", json::array({{{"t", 4}}, nullptr}))});
  return applied;
}

TEST_CASE("a custom autograd function has the operators of its two passes") {
  const auto read = decode(program(json::array({application(), op("aten::relu", json::array({{{"t", 1}}}), 5)})));
  REQUIRE(read);
  CHECK(read->ids == 6);
  const Operator& applied = read->operators[0];
  CHECK(applied.kind == OperatorKind::function);
  CHECK(computes(applied));
  CHECK(applied.forward.back().args == Values{{TensorRef{0}}, {Nothing{}}});
  CHECK(applied.backward[0].kind == OperatorKind::received);
  CHECK(applied.backward[1].out == std::vector<TensorId>{3, kNoTensor});
  CHECK(encode(*decode(encode(*read))) == encode(*read));

  json early = application();
  early["forward"][0]["args"][0]["t"] = 2;
  CHECK_THAT(refusal(program(json::array({early}))), Catch::Contains("tensor 2 is used before it is made"));
  json deep = application();
  for (int at = 0; at < 3; ++at) {
    json around = application();
    around["forward"].push_back(deep);
    deep = around;
  }
  CHECK_THAT(refusal(program(json::array({deep}))), Catch::Contains("too deeply"));
}

TEST_CASE("a program that is no program names its first fault") {
  CHECK_THAT(refusal(json::array()), Catch::Contains("no object"));
  CHECK_THAT(refusal({{"format", 2}}), Catch::Contains("another version"));
  CHECK_THAT(refusal({{"format", 1}, {"refused", "it uses vmap"}}), Catch::Contains("it uses vmap"));
  CHECK_THAT(refusal({{"format", 1}, {"tensors", json::array()}}), Catch::Contains("`operators` is missing"));
  const auto faulty = [](json value) { return refusal(program(json::array({op("aten::relu", json::array({std::move(value)}))}))); };
  CHECK_THAT(faulty({{"t", 5}}), Catch::Contains("operators[0]") && Catch::Contains("tensor 5 is used before it is made"));
  CHECK_THAT(faulty({{"t", -1}}), Catch::Contains("used before"));
  CHECK_THAT(faulty({{"t", "x"}}), Catch::Contains("whole number"));
  CHECK_THAT(faulty({{"what", 1}}), Catch::Contains("unknown kind"));
  CHECK_THAT(faulty(json::object()), Catch::Contains("unknown kind"));
  CHECK_THAT(faulty({{"batch", {1, 2, 0}}}), Catch::Contains("denominator"));
  CHECK_THAT(faulty(18446744073709551615ULL), Catch::Contains("whole number"));
  CHECK_THAT(faulty(json::parse("[[[[[[[[[[[[1]]]]]]]]]]]]")), Catch::Contains("too deeply"));
  CHECK_THAT(refusal(program(json::array({op("hotlens::explode", json::array())}))), Catch::Contains("newer Hotlens"));
  CHECK_THAT(refusal(program(json::array({op("aten::relu", json::array(), 1e9)}))), Catch::Contains("whole number"));
  CHECK_THAT(refusal(program(json::array({op("aten::relu", json::array(), 4'000'000'000)}))), Catch::Contains("no possible id"));
  json outside = program(json::array({op("aten::relu", json::array())}));
  outside["operators"][0]["module"] = 7;
  CHECK_THAT(refusal(outside), Catch::Contains("list of modules"));
  json uneven = program(json::array());
  uneven["tensors"][0]["stride"] = {1, 2};
  CHECK_THAT(refusal(uneven), Catch::Contains("tensors[0]: shape and stride differ"));
  json apart = program(json::array());
  apart["tensors"][0]["slices"] = {{{"dim", 7}, {"min", {0}}, {"max", {1}}}};
  CHECK_THAT(refusal(apart), Catch::Contains("tensors[0]: `slices` names no dimension"));
}

TEST_CASE("what the graph alone keeps goes after its last use, or with its last name") {
  json last = op("aten::relu", json::array({{{"t", 3}}}), 4);
  last["last_named"] = {1};
  const json recorded = program(json::array({op("aten::cos", json::array({{{"t", 0}}}), 1), op("aten::sin", json::array({{{"t", 1}}}), 2),
                                             op("aten::cos", json::array({{{"t", 2}}}), 3), last, op("hotlens::free", {1, 2}),
                                             op("hotlens::backward", json::array({{{"t", 4}}, nullptr}))}));
  auto read = decode(recorded);
  REQUIRE(read);
  CHECK(read->operators[3].last_named == std::vector<TensorId>{1});
  CHECK(decode(encode(*read))->operators[3].last_named.empty());
  release_after_last_use(*read);
  std::vector<std::string> names;
  for (const Operator& one : read->operators) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"aten::cos", "aten::sin", "aten::cos", "hotlens::free", "aten::relu", "hotlens::free",
                                          "hotlens::backward"});
  CHECK(read->operators[3].args == Values{{TensorRef{2}}});
  CHECK(read->operators[5].args == Values{{TensorRef{1}}});
}
