#include "annotator/lab/program/join.h"

#include <nlohmann/json.hpp>

#include "annotator/lab/program/program.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::lab;
using nlohmann::json;

namespace {

// A linear layer on `batch` rows of 3, with a view whose literal is half of the batch.
json recorded(std::int64_t batch) {
  json document = json::parse(R"({"format": 1, "modules": [], "tensors": [
    {"id": 0, "kind": "parameter", "name": "w", "shape": [5, 3], "stride": [3, 1], "dtype": "float32", "storage": 0, "storage_bytes": 60},
    {"id": 1, "kind": "input", "stride": [3, 1], "dtype": "float32", "storage": 1},
    {"id": 2, "kind": "input", "stride": [1], "dtype": "int64", "storage": 2, "min": 1}],
    "operators": [
    {"op": "aten::linear", "overload": "", "args": [{"t": 1}, {"t": 0}], "out": 13},
    {"op": "aten::view", "overload": "", "args": [{"t": 13}], "kwargs": {"scale": 0.5}, "out": 14},
    {"op": "hotlens::free", "args": [13]}]})");
  document["tensors"][1]["shape"] = {batch, 3};
  document["tensors"][1]["storage_bytes"] = batch * 12;
  document["tensors"][2]["shape"] = {batch};
  document["tensors"][2]["storage_bytes"] = batch * 8;
  document["tensors"][2]["max"] = 9;
  document["operators"][1]["args"].push_back({batch / 2, -1});
  document["operators"][1]["kwargs"]["scale"] = 1.0 / static_cast<double>(batch);
  return document;
}

json joined(const json& six, const json& eight) {
  auto both = join({six, 6}, {eight, 8});
  REQUIRE(both);
  return *both;
}

std::string difference(const json& six, const json& eight) {
  const auto both = join({six, 6}, {eight, 8});
  REQUIRE(!both);
  return both.error().message;
}

Program at_all_sizes(const json& document) {
  auto program = decode(document);
  REQUIRE(program);
  return *program;
}

}  // namespace

TEST_CASE("sizes that differ follow the batch in a straight line, others stay") {
  const Program program = at_all_sizes(joined(recorded(6), recorded(8)));
  CHECK(program.tensors[0].shape == std::vector<Whole>{{5}, {3}});
  CHECK(program.tensors[1].shape[0].at(32) == 32);
  CHECK(program.tensors[1].shape[1].at(32) == 3);
  CHECK(program.tensors[1].storage_bytes.at(1) == 12);
  const auto& view = std::get<Values>(program.operators[1].args[1].is);
  CHECK(std::get<Whole>(view[0].is).at(64) == 32);
  CHECK(!std::get<Whole>(view[0].is).at(5));
  CHECK(view[1] == Value{Whole{-1}});
  CHECK(program.batch->at(17) == 17);
}

// The same with a function whose backward pass has a size that is the batch's, and lets go where Python did.
json applied(std::int64_t batch) {
  json document = recorded(batch);
  json function = json::parse(R"({"op": "hotlens::function", "args": [{"t": 14}], "kwargs": {"name": "Odd"}, "out": [15],
    "forward": [{"op": "aten::relu", "args": [{"t": 14}], "out": 15}, {"op": "hotlens::returned", "args": [{"t": 15}]}],
    "backward": [{"op": "hotlens::received", "args": [], "out": [16]}, {"op": "hotlens::returned", "args": [{"t": 17}]}]})");
  const json sized = {{"op", "aten::view"}, {"args", {{{"t", 16}}, {batch * 2, -1}}}, {"out", 17}, {"shapes", {batch * 2, 7}}};
  function["backward"].insert(function["backward"].begin() + 1, sized);
  const json let_go = {{"op", "hotlens::free"}, {"args", {16}}};
  if (batch == 6) function["backward"].insert(function["backward"].begin() + 2, let_go);
  document["operators"].push_back(function);
  return document;
}

TEST_CASE("sizes within a custom autograd function follow the batch as others do") {
  const Program program = at_all_sizes(joined(applied(6), applied(8)));
  const std::vector<Operator>& backward = program.operators.back().backward;
  REQUIRE(backward.size() == 4);
  CHECK(std::get<Whole>(std::get<Values>(backward[1].args[1].is)[0].is).at(32) == 64);
  CHECK(backward[2].kind == OperatorKind::free);

  json other = applied(8);
  other["operators"].back()["backward"][1]["op"] = "aten::reshape";
  CHECK_THAT(difference(applied(6), other), Catch::Contains("aten::reshape at batch size 8"));
  json unused = applied(8);
  unused["operators"].back()["backward"] = nullptr;
  CHECK_THAT(difference(applied(6), unused), Catch::Contains("another backward pass"));
}

TEST_CASE("tensors within a custom autograd function are paired as others are") {
  json other = applied(8);
  std::swap(other["tensors"][0], other["tensors"][1]);
  for (json& one : other["operators"]) {
    for (json& given : one["args"]) {
      if (given.is_object() && given["t"] < 2) given["t"] = 1 - given["t"].get<int>();
    }
  }
  json six = applied(6);
  for (json* document : {&six, &other}) {
    const int weight = document == &six ? 0 : 1;
    document->at("operators").back()["forward"][0]["args"].push_back({{"t", weight}});
  }
  CHECK(joined(six, other)["operators"].back()["forward"][0]["args"][1] == json({{"t", 0}}));
}

TEST_CASE("either recording may be the larger one") {
  const json eight = recorded(8), six = recorded(6);
  auto both = join({eight, 8}, {six, 6});
  REQUIRE(both);
  CHECK(at_all_sizes(*both).tensors[1].storage_bytes.at(10) == 120);
}

TEST_CASE("tensors that Python lists in another order are the same ones") {
  json six = recorded(6), eight = recorded(8);
  for (json* document : {&six, &eight}) (*document)["operators"].push_back({{"op", "aten::one_hot"}, {"args", {{{"t", 2}}}}, {"out", 15}});
  std::swap(eight["tensors"][0], eight["tensors"][2]);
  for (json& tensor : eight["tensors"]) tensor["id"] = 2 - tensor["id"].get<int>();
  eight["operators"][0]["args"][1]["t"] = 2;
  eight["operators"][3]["args"][0]["t"] = 0;
  const Program program = at_all_sizes(joined(six, eight));
  CHECK(program.tensors[0].name == "w");
  CHECK(program.tensors[2].shape[0].at(32) == 32);
}

TEST_CASE("tensors that are only held are paired by what they are") {
  json six = recorded(6), eight = recorded(8);
  const json loss = json::parse(R"({"kind": "other", "shape": [], "stride": [], "dtype": "float32", "storage": 3, "storage_bytes": 4})");
  six["tensors"].push_back(loss);
  eight["tensors"].insert(eight["tensors"].begin() + 2, loss);
  const Program program = at_all_sizes(joined(six, eight));
  CHECK(program.tensors[3].kind == TensorKind::other);
  CHECK(program.tensors[2].storage_bytes.at(10) == 80);
}

TEST_CASE("real numbers may differ, as a mean's weight does") {
  const Program program = at_all_sizes(joined(recorded(6), recorded(8)));
  CHECK(std::get<double>(program.operators[1].kwargs[0].second.is) == 1.0 / 6);
}

TEST_CASE("a state may have zeros at one size alone") {
  json six = recorded(6), eight = recorded(8);
  six["tensors"][0]["zeros"] = 0.5;
  CHECK(at_all_sizes(joined(six, eight)).tensors[0].zeros == 0.5);
  eight["tensors"][0]["zeros"] = 0.5;
  CHECK(at_all_sizes(joined(recorded(6), eight)).tensors[0].zeros == 0);
}

TEST_CASE("the largest value grows only where it can be an index into the batch") {
  struct Case {
    std::int64_t at_six, at_eight, at_sixteen;
  };
  for (const Case& one : {Case{5, 7, 15}, Case{20, 28, 60}, Case{990, 980, 990}, Case{980, 990, 990}, Case{9, 9, 9}}) {
    json six = recorded(6), eight = recorded(8);
    six["tensors"][2]["max"] = one.at_six;
    eight["tensors"][2]["max"] = one.at_eight;
    CHECK(at_all_sizes(joined(six, eight)).tensors[2].most->at(16) == one.at_sixteen);
  }
}

TEST_CASE("columns keep bounds of their own, rows of a batch have none") {
  json six = recorded(6), eight = recorded(8);
  for (auto [document, batch, most] : {std::tuple(&six, 6, 40), std::tuple(&eight, 8, 50)}) {
    json& tensor = (*document)["tensors"][2];
    tensor["shape"] = {batch, 2};
    tensor["stride"] = {2, 1};
    tensor["storage_bytes"] = batch * 16;
    tensor["slices"] = {
        {{"dim", 0}, {"min", std::vector(static_cast<std::size_t>(batch), 1)}, {"max", std::vector(static_cast<std::size_t>(batch), 9)}},
        {{"dim", 1}, {"min", {1, 4}}, {"max", {3, most}}}};
  }
  const std::vector<Slices> slices = at_all_sizes(joined(six, eight)).tensors[2].slices;
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].dimension == 1);
  CHECK(slices[0].least == std::vector<std::int64_t>{1, 4});
  CHECK(slices[0].most == std::vector<std::int64_t>{3, 50});
}

TEST_CASE("the labels of a loss are no index into the batch, whatever their largest is") {
  json six = recorded(6), eight = recorded(8);
  six["tensors"][2]["max"] = 5;
  eight["tensors"][2]["max"] = 7;
  for (json* document : {&six, &eight}) {
    json& operators = (*document)["operators"];
    operators.push_back({{"op", "aten::reshape"}, {"args", {{{"t", 2}}, {-1}}}, {"out", 15}});
    operators.push_back({{"op", "aten::cross_entropy_loss"}, {"args", {{{"t", 14}}, {{"t", 15}}}}, {"out", 16}});
  }
  CHECK(at_all_sizes(joined(six, eight)).tensors[2].most->at(16) == 7);
}

TEST_CASE("where in a tensor is read does not follow the batch, how much does") {
  struct Case {
    const char *op, *at_six, *at_eight;
    std::vector<std::int64_t> at_sixteen;  // of the arguments behind the dimension
  };
  for (const Case& one : {
           Case{"aten::select", "[0, 19]", "[0, 12]", {19}},
           Case{"aten::select", "[-1, 7]", "[-1, 7]", {7}},
           Case{"aten::slice", "[0, 40, 44]", "[0, 10, 14]", {40, 44}},
           Case{"aten::slice", "[0, 94]", "[0, 92]", {0, 16}},
           Case{"aten::slice", "[0, 60, 66]", "[0, 80, 88]", {0, 16}},
           Case{"aten::slice", "[0, 0, 6]", "[0, 0, 8]", {0, 16}},
           Case{"aten::slice", "[0, -6, null]", "[0, -8, null]", {0, 16}},
           Case{"aten::slice", "[0, 1, 100, 9]", "[0, 3, 100, 9]", {11, 100, 9}},
           Case{"aten::narrow", "[0, 60, 6]", "[0, 80, 8]", {0, 16}},
           Case{"aten::narrow", "[0, 60, 5]", "[0, 10, 5]", {60, 5}},
       }) {
    json six = recorded(6), eight = recorded(8);
    for (auto [document, given] : {std::pair(&six, one.at_six), std::pair(&eight, one.at_eight)}) {
      (*document)["tensors"].push_back(
          {{"kind", "other"}, {"shape", {100}}, {"stride", {1}}, {"dtype", "float32"}, {"storage", 3}, {"storage_bytes", 400}});
      json args = {{{"t", 3}}};
      for (const json& number : json::parse(given)) args.push_back(number);
      (*document)["operators"].push_back({{"op", one.op}, {"args", args}, {"out", 15}});
    }
    const Program program = at_all_sizes(joined(six, eight));
    const auto& args = program.operators.back().args;
    for (std::size_t at = 0; at < one.at_sixteen.size(); ++at) {
      INFO(one.op << one.at_six << at);
      CHECK(std::get<Whole>(args.at(2 + at).is).at(16) == one.at_sixteen[at]);
    }
  }
}

TEST_CASE("an index into what follows the batch follows it") {
  json six = recorded(6), eight = recorded(8);
  for (auto [document, last] : {std::pair(&six, 5), std::pair(&eight, 7)})
    (*document)["operators"].push_back({{"op", "aten::select"}, {"args", {{{"t", 1}}, 0, last}}, {"out", 15}});
  CHECK(std::get<Whole>(at_all_sizes(joined(six, eight)).operators.back().args[2].is).at(16) == 15);
}

TEST_CASE("when tensors are let go is Python's own time and follows the measured size") {
  json eight = recorded(8);
  eight["operators"].erase(2);
  const json early = {{"op", "hotlens::free"}, {"args", {0}}};
  eight["operators"].insert(eight["operators"].begin(), early);
  const json both = joined(recorded(6), eight);
  CHECK(both["operators"].size() == 3);
  CHECK(both["operators"][2]["args"] == json{13});
}

TEST_CASE("steps that do something else at another size are not joined, and the first difference is named") {
  json other = recorded(8);
  other["operators"][0]["op"] = "aten::mm";
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("operator 0 (aten::linear) is aten::mm at batch size 8"));
  other = recorded(8);
  other["operators"].push_back({{"op", "aten::relu"}});
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("goes on with more operators"));
  CHECK_THAT(difference(other, recorded(8)), Catch::Contains("ends before operator 3 (aten::relu)"));
  other = recorded(8);
  other["operators"][1]["args"][0]["t"] = 1;
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("other tensors"));
  other = recorded(8);
  other["operators"][0]["args"][0]["t"] = 0;
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("tensor 0 is not the same"));
  other = recorded(8);
  other["operators"][1]["args"][1].push_back(1);
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("lists of other lengths"));
  other = recorded(8);
  other["tensors"].push_back(other["tensors"][2]);
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("4 at the other"));
  other = recorded(8);
  other["operators"][1]["args"][1][0] = true;
  CHECK_THAT(difference(recorded(6), other), Catch::Contains("other kinds"));
  CHECK_THAT(join({recorded(6), 6}, {recorded(6), 6}).error().message, Catch::Contains("same batch size"));
}

namespace {

// The same with a mask of `length` × `length`, and the lower half of one of that size.
json masked(std::int64_t length) {
  json document = recorded(length);
  json mask = document["tensors"][0];
  mask["id"] = 3;
  mask["shape"] = {length, length};
  mask["stride"] = {length, 1};
  mask["storage"] = 3;
  mask["storage_bytes"] = length * length * 4;
  mask["kind"] = "buffer";
  document["tensors"].push_back(mask);
  document["operators"][1]["args"][1][1] = length * (length + 1) / 2;
  return document;
}

Result<json> of_three(const json& a, const json& b, const json& c) {
  return join({a, 16}, {b, 12}, {c, 8}, "BLOCK");
}

}  // namespace

TEST_CASE("of three recordings what is on no line is on the parabola through them") {
  const auto both = of_three(masked(16), masked(12), masked(8));
  REQUIRE(both);
  const Program program = at_all_sizes(*both);
  for (const std::int64_t length : {1, 7, 16, 64, 1000}) {
    CHECK(program.tensors[0].shape[0].at(length) == 5);
    CHECK(program.tensors[1].shape[0].at(length) == length);
    CHECK(program.tensors[3].shape[1].at(length) == length);
    CHECK(program.tensors[3].storage_bytes.at(length) == 4 * length * length);
    CHECK(std::get<Whole>(std::get<Values>(program.operators[1].args[1].is)[1].is).at(length) == length * (length + 1) / 2);
  }
  CHECK(program.tensors[1].storage_bytes.square == 0);
  CHECK(!program.tensors[3].storage_bytes.at(std::int64_t{1} << 40));
  CHECK(decode(encode(program))->tensors[3].storage_bytes == program.tensors[3].storage_bytes);
}

TEST_CASE("of three recordings a table is looked up in no further than the smallest is long") {
  json one = masked(16), two = masked(12), three = masked(8);
  for (auto [document, most] : {std::pair(&one, 90), std::pair(&two, 60), std::pair(&three, 70)}) (*document)["tensors"][2]["max"] = most;
  const auto both = of_three(one, two, three);
  REQUIRE(both);
  CHECK(at_all_sizes(*both).tensors[2].most == Whole{60});
  CHECK(at_all_sizes(*both).tensors[2].least == Whole{1});
}

TEST_CASE("where a batch begins in memory that is as large in all recordings is no function of the number") {
  json one = masked(16), two = masked(12), three = masked(8);
  for (auto [document, offset] : {std::pair(&one, 48), std::pair(&two, 60), std::pair(&three, 8)}) {
    (*document)["tensors"][2]["offset"] = offset;
    (*document)["tensors"][2]["storage_bytes"] = 8000;
  }
  const auto both = of_three(one, two, three);
  REQUIRE(both);
  CHECK(at_all_sizes(*both).tensors[2].offset == Whole{0});
  two["tensors"][2]["offset"] = 48;
  CHECK(at_all_sizes(*of_three(one, two, three)).tensors[2].offset == Whole{0});
  for (auto [document, length] : {std::pair(&one, 16), std::pair(&two, 12), std::pair(&three, 8)}) {
    (*document)["tensors"][2]["offset"] = length * length;
    (*document)["tensors"][2]["storage_bytes"] = 9 * length * length;
  }
  CHECK(at_all_sizes(*of_three(one, two, three)).tensors[2].offset.at(5) == 25);
}

TEST_CASE("of three recordings one that does something else is refused with its value") {
  json other = masked(8);
  other["operators"][0]["op"] = "aten::mm";
  CHECK(of_three(masked(16), masked(12), other).error().message ==
        "The steps at BLOCK = 16 and BLOCK = 8 differ: operator 0 (aten::linear) is aten::mm at BLOCK = 8.");
  other = masked(8);
  other["tensors"][0]["storage_bytes"] = json::parse(R"({"batch": [1, 2, 0]})");
  CHECK(!of_three(masked(16), masked(12), other));
  CHECK(!decode(*of_three(other, other, other)));
  CHECK(join({masked(16), 16}, {masked(12), 12}, {masked(12), 12}, "BLOCK").error().message == "Two of three steps have the same BLOCK.");
}

TEST_CASE("hostile programs are errors, not exceptions") {
  for (const char* text : {"null", "[]", "{}", R"({"tensors": [], "operators": 3})", R"({"tensors": [1], "operators": [2]})",
                           R"({"tensors": [], "operators": [{"op": 7}]})"}) {
    const json document = json::parse(text);
    const auto both = join({document, 6}, {recorded(8), 8});
    CHECK(!both);
    CHECK(!join({recorded(6), 6}, {document, 8}));
  }
  json huge = recorded(8);
  huge["tensors"][1]["storage_bytes"] = std::numeric_limits<std::int64_t>::min();
  CHECK_THAT(difference(recorded(6), huge), Catch::Contains("out of all bounds"));
}
