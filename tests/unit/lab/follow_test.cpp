#include "annotator/lab/program/follow.h"

#include "tests/unit/catch.h"

using namespace hotlens::lab;

namespace {

Value list(const Sizes& sizes) {
  Values values;
  for (const auto size : sizes) values.push_back({Whole{.offset = size}});
  return {values};
}

Operator op(const char* name, std::vector<Value> args) {
  Operator made{.name = name, .overload = {}, .args = {{TensorRef{0}}}, .kwargs = {}, .out = {1}};
  made.args.insert(made.args.end(), args.begin(), args.end());
  return made;
}

std::string written(const Operator& op) {
  const auto number = [](const Value& value) { return std::to_string(std::get<Whole>(value.is).offset); };
  if (std::holds_alternative<Whole>(op.args[1].is)) return number(op.args[1]);
  std::string all;
  for (const Value& value : std::get<Values>(op.args[1].is)) all += (all.empty() ? "" : " ") + number(value);
  return all;
}

// What the second argument becomes.
std::string after(Operator op, const Sizes& was, const Sizes& is, const Numbers& numbers = {}, const Numbers& sizes = {}) {
  const auto followed = follow(op, was, is, {.numbers = numbers, .sizes = sizes});
  if (!followed) return "unclear";
  return written(op);
}

}  // namespace

TEST_CASE("sizes of a view follow the dimensions that they are made of") {
  const auto view = [](const Sizes& sizes) { return op("aten::view", {list(sizes)}); };
  CHECK(after(view({8, 3136}), {8, 64, 7, 7}, {8, 128, 7, 7}) == "8 6272");
  CHECK(after(view({8, -1}), {8, 64, 7, 7}, {8, 128, 7, 7}) == "8 -1");
  CHECK(after(view({256, 96}), {8, 32, 4, 24}, {8, 32, 4, 32}) == "256 128");
  CHECK(after(view({8, 32, 96}), {8, 32, 96}, {8, 32, 96}) == "8 32 96");
}

TEST_CASE("sizes that the text writes as numbers stay, others follow") {
  const auto view = [](const Sizes& sizes, std::vector<std::pair<std::size_t, std::int64_t>> written) {
    Operator made = op("aten::view", {list(sizes)});
    made.written = std::move(written);
    return made;
  };
  CHECK(after(view({-1, 3136}, {{0, -1}, {1, 3136}}), {8, 64, 7, 7}, {8, 128, 7, 7}) == "-1 3136");
  CHECK(after(view({8, 3136}, {{1, 3136}}), {8, 64, 7, 7}, {8, 128, 7, 7}) == "8 3136");
  CHECK(after(view({8, 3136}, {{1, 6272}}), {8, 64, 7, 7}, {8, 128, 7, 7}) == "8 6272");
  CHECK(after(view({4, 16, 3, 16}, {{1, 16}, {2, 3}, {3, 32}}), {4, 16, 48}, {4, 16, 96}) == "4 16 3 32");
  CHECK(after(view({64, 3, 16}, {{1, 3}, {2, 32}}), {4, 16, 48}, {4, 16, 96}) == "unclear");
  CHECK(after(view({8, 3136}, {{7, 1}}), {8, 64, 7, 7}, {8, 128, 7, 7}) == "8 6272");
}

TEST_CASE("of two dimensions of one size the one changes that the module's number is of") {
  const Numbers width{{64, 96}, {4, 4}};
  CHECK(after(op("aten::view", {list({8, 64, 4, 16})}), {8, 64, 64}, {8, 64, 96}, width) == "8 64 4 24");
  CHECK(after(op("aten::view", {list({8, 64, 64})}), {8, 64, 4, 16}, {8, 64, 4, 24}, width) == "8 64 96");
  CHECK(after(op("aten::view", {list({8, 12, 4, 8})}), {8, 12, 32}, {8, 12, 64}, {{4, 4}, {8, 16}}) == "8 12 4 16");
  CHECK(after(op("aten::view", {list({8, 12, 32})}), {8, 12, 4, 8}, {8, 12, 4, 16}, {{4, 4}, {8, 16}}) == "8 12 64");
}

TEST_CASE("a size that cannot be the module's number stays") {
  // Pairs of a rotary embedding, in a module with two heads that are three now.
  CHECK(after(op("aten::view", {list({8, 20, 6, -1, 2})}), {8, 20, 6, 10}, {8, 20, 6, 10}, {{2, 3}}) == "8 20 6 -1 2");
}

TEST_CASE("a range ends at a number that the module holds") {
  const auto range = [](std::int64_t end, const Numbers& numbers, const Numbers& sizes = {}) {
    Operator made{.name = "aten::arange", .overload = {}, .args = {{Whole{.offset = end}}}, .kwargs = {}, .out = {1}};
    const auto followed = follow(made, {}, {}, {.numbers = numbers, .sizes = sizes});
    return followed ? std::get<Whole>(made.args[0].is).offset : -1;
  };
  CHECK(range(8, {{16, 32}, {8, 16}}) == 16);
  CHECK(range(20, {{16, 32}, {8, 16}}) == 20);
  CHECK(range(8, {{8, 16}}, {{8, 8}}) == -1);  // or the length of a sequence
}

TEST_CASE("a width that is split over several dimensions needs to know which one stays") {
  const Operator heads = op("aten::view", {list({8, 32, 4, 24})});
  const Sizes was{8, 32, 96}, is{8, 32, 192};
  CHECK(after(heads, was, is) == "unclear");
  CHECK(after(heads, was, is, {{4, 4}}) == "8 32 4 48");
  CHECK(after(heads, was, is, {{24, 24}}) == "8 32 8 24");
  CHECK(after(heads, was, was, {{4, 8}}) == "8 32 8 12");
  CHECK(after(op("aten::view", {list({8, 32, 4, -1})}), was, is) == "8 32 4 -1");
}

TEST_CASE("heads of torch's attention are told from a batch and a width of their size") {
  // 8 samples of 12 places, 4 heads of 8 numbers; then 4 of 12.
  const auto attends = [](const Sizes& literals, const Sizes& was, const Sizes& is, const Numbers& attention) {
    Operator view = op("aten::view", {list(literals)});
    const auto followed = follow(view, was, is, {.numbers = {{32, 48}, {8, 12}}, .sizes = {}, .attention = attention});
    return followed ? written(view) : "unclear";
  };
  const Numbers wider{{4, 4}, {8, 12}}, more{{4, 8}, {8, 4}};
  CHECK(attends({12, 32, 8}, {12, 8, 32}, {12, 8, 48}, wider) == "12 32 12");
  CHECK(attends({8, 4, 12, 8}, {32, 12, 8}, {32, 12, 12}, wider) == "8 4 12 12");
  CHECK(attends({96, 32}, {12, 8, 4, 8}, {12, 8, 4, 12}, wider) == "96 48");
  CHECK(attends({12, 8, 32}, {96, 32}, {96, 48}, wider) == "12 8 48");
  CHECK(attends({12, 32, 8}, {12, 8, 32}, {12, 8, 32}, more) == "12 64 4");
  CHECK(attends({8, 4, 12, 12}, {32, 12, 12}, {64, 12, 12}, more) == "8 8 12 12");
}

TEST_CASE("parts of a width stay as many; a part that is no whole one is unclear") {
  const Value dim{Whole{.offset = 2}};
  const auto split = [&](std::int64_t size) { return op("aten::split", {{Whole{.offset = size}}, dim}); };
  CHECK(after(split(96), {8, 32, 288}, {8, 32, 384}) == "128");
  CHECK(after(split(96), {8, 32, 288}, {8, 16, 288}) == "96");
  CHECK(after(split(96), {8, 32, 288}, {8, 32, 400}) == "unclear");
  CHECK(after(op("aten::split_with_sizes", {list({96, 192}), dim}), {8, 32, 288}, {8, 32, 384}) == "128 256");
  // `split(self.width // self.heads, 2)`: twice the heads are twice the parts, which no recorded operator takes.
  CHECK(after(split(16), {8, 32, 64}, {8, 32, 64}, {{64, 64}, {4, 8}}) == "unclear");
  CHECK(after(split(16), {8, 32, 64}, {8, 32, 64}, {{64, 64}, {4, 4}}) == "16");
  CHECK(after(split(64), {8, 32, 192}, {8, 32, 192}, {{64, 64}, {3, 5}}) == "64");  // a model's three layers are no parts
}

TEST_CASE("what is taken of a table stays as much, of another tensor its part") {
  const auto end = [](std::int64_t bound, bool held, const Numbers& numbers) {
    Operator slice = op("aten::slice", {Value{Whole{.offset = 1}}, Value{Whole{.offset = 0}}, Value{Whole{.offset = bound}}});
    if (!follow(slice, {1, 40, 32}, {1, 80, 32}, {.numbers = numbers, .sizes = {}, .held = held})) return std::int64_t{-1};
    return std::get<Whole>(slice.args[3].is).offset;
  };
  CHECK(end(12, true, {}) == 12);
  CHECK(end(20, false, {}) == 40);
  CHECK(end(20, true, {{20, 40}}) == 40);
  Operator all = op("aten::alias", {});
  CHECK_FALSE(follow(all, {1, 40}, {1, 80}, {.numbers = {}, .sizes = {}, .held = true, .explained = false}));
  CHECK(follow(all, {1, 40}, {1, 80}, {.numbers = {}, .sizes = {}, .held = true}) == false);
}

TEST_CASE("expanding keeps what is expanded and follows the rest") {
  CHECK(after(op("aten::expand", {list({8, 17, 96})}), {1, 17, 96}, {1, 17, 128}) == "8 17 128");
  CHECK(after(op("aten::expand", {list({8, -1, -1})}), {1, 1, 96}, {1, 1, 128}) == "8 -1 -1");
}

TEST_CASE("a size that the operator's own tensor does not explain is that of tensors around it") {
  const Operator index = op("aten::expand", {list({-1, -1, 64})});
  CHECK(after(index, {8, 192, 1}, {8, 192, 1}, {}, {{8, 8}, {64, 96}}) == "-1 -1 96");
  CHECK(after(index, {8, 192, 1}, {8, 192, 1}, {}, {{8, 8}}) == "-1 -1 64");
  CHECK(after(index, {8, 192, 1}, {8, 192, 1}, {}, {{64, 64}, {64, 96}}) == "unclear");
  CHECK(after(index, {8, 192, 1}, {8, 192, 1}, {{64, 64}}, {{64, 96}}) == "unclear");
  CHECK(after(index, {8, 192, 1}, {8, 192, 1}, {{64, 96}}, {{64, 96}}) == "-1 -1 96");
  CHECK(after(op("aten::new_zeros", {list({8, 96})}), {8, 96}, {8, 128}, {}, {{8, 8}, {96, 128}}) == "8 128");
  CHECK(after(op("aten::new_zeros", {list({8, 96})}), {8, 96}, {8, 96}) == "8 96");
}

TEST_CASE("what is made without a tensor follows what is around it") {
  Operator made = op("aten::zeros", {});
  made.args = {list({8, 96})};
  const auto followed = follow(made, {}, {}, {.numbers = {}, .sizes = {{8, 8}, {96, 128}}});
  REQUIRE(followed);
  CHECK(*followed);
  CHECK(made.args == Values{list({8, 128})});
}

TEST_CASE("operators whose sizes are not followed are unclear where their tensor is another") {
  CHECK(after(op("aten::as_strided", {list({8, 96})}), {8, 96}, {8, 128}) == "unclear");
}
