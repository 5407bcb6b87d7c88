#include "annotator/kernels/costs/cost.h"

#include <string>

#include "tests/unit/catch.h"

using namespace hotlens::kernels;

namespace {

std::optional<Cost> cost_of(std::string_view name, std::string_view shapes, std::string_view types, std::string_view values = "") {
  return cost(name, Arguments(shapes, types, values));
}

struct Case {
  std::string_view name, shapes, types, values;
  double flops, bytes;
};

constexpr std::string_view kConvTypes =
    R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])";
constexpr std::string_view kConvBackwardTypes =
    R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"])";

}  // namespace

// The arguments are as torch 2.13 and the traces of others write them; every number was counted by hand.
TEST_CASE("arithmetic and bytes are those of a hand count") {
  const Case one = GENERATE(values<Case>({
      // 2·64·128·32; 64·128 + 128·32 read, 64·32 written.
      {"aten::mm", "[[64, 128], [128, 32]]", R"(["float", "float"])", "", 524'288, 4 * (8192 + 4096 + 2048)},
      // 2·124·10·21; the bias is read as well.
      {"aten::addmm", "[[21], [124, 10], [10, 21], [], []]", R"(["float", "float", "float", "Scalar", "Scalar"])", "", 52'080,
       4 * (21 + 1240 + 210 + 2604)},
      // Eight products of (64, 16) and (16, 64).
      {"aten::bmm", "[[8, 64, 16], [8, 16, 64]]", R"(["c10::BFloat16", "c10::BFloat16"])", "", 8 * 131'072, 2 * (8192 + 8192 + 32'768)},
      // A Linear(16, 12) of two sequences of six.
      {"aten::linear", "[[2, 6, 16], [12, 16], [12]]", R"(["float", "float", "float"])", "", 2 * 12 * 16 * 12, 4 * (192 + 192 + 12 + 144)},
      // Two groups, stride 2: (2, 8, 8, 8), each element a window of 2·3·3.
      {"aten::convolution", "[[2, 4, 16, 16], [8, 2, 3, 3], [8], [], [], [], [], [], []]", kConvTypes,
       R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"])", 2 * 1024 * 18, 4 * (2048 + 144 + 8 + 1024)},
      // Depthwise in one dimension: (2, 6, 62), a window of 3.
      {"aten::_convolution", "[[2, 6, 64], [6, 1, 3], [6], [], [], [], [], [], [], [], [], [], []]", kConvTypes,
       R"(["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "6", "False", "False", "True", "True"])", 2 * 744 * 3,
       4 * (768 + 18 + 6 + 744)},
      // Dilation 2 reaches over five: (1, 1, 6, 6) of (1, 3, 10, 10).
      {"aten::convolution", "[[1, 3, 10, 10], [1, 3, 3, 3], [], [], [], [], [], [], []]",
       R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])",
       R"(["", "", "", "[1, 1]", "[0, 0]", "[2, 2]", "False", "[0, 0]", "1"])", 2 * 36 * 27, 4 * (300 + 27 + 36)},
      // Transposed: each of 2·8·8·8 inputs meets a window of 6·4·4; the result is (2, 6, 16, 16).
      {"aten::convolution", "[[2, 8, 8, 8], [8, 6, 4, 4], [6], [], [], [], [], [], []]", kConvTypes,
       R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])", 2 * 1024 * 96, 4 * (1024 + 768 + 6 + 3072)},
      // Both gradients of the depthwise one, and that of the weight alone.
      {"aten::convolution_backward", "[[2, 6, 62], [2, 6, 64], [6, 1, 3], [], [], [], [], [], [], [], []]", kConvBackwardTypes,
       R"(["", "", "", "[6]", "[1]", "[0]", "[1]", "False", "[0]", "6", "[True, True, True]"])", 2 * 2 * 744 * 3,
       4 * (744 + 2 * 768 + 2 * 18)},
      {"aten::convolution_backward", "[[2, 6, 62], [2, 6, 64], [6, 1, 3], [], [], [], [], [], [], [], []]", kConvBackwardTypes,
       R"(["", "", "", "[6]", "[1]", "[0]", "[1]", "False", "[0]", "6", "[False, True, False]"])", 2 * 744 * 3, 4 * (744 + 768 + 18)},
      // Four heads of six queries and keys: 21 pairs that a causal mask leaves, 8 wide each way.
      {"aten::_scaled_dot_product_flash_attention_for_cpu", "[[2, 2, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8], [], [], [], []]",
       R"(["float", "float", "float", "Scalar", "Scalar", "", ""])", R"(["", "", "", "0.", "True", "", ""])", 2 * 4 * 21 * 16, 4 * 4 * 192},
      {"aten::_scaled_dot_product_efficient_attention", "[[1, 8, 10, 64], [1, 8, 20, 64], [1, 8, 20, 32], [], [], [], [], []]",
       R"(["c10::Half", "c10::Half", "c10::Half", "", "Scalar", "Scalar", "Scalar", ""])", R"(["", "", "", "", "True", "0.", "False", ""])",
       2 * 8 * 200 * 96, 2 * (5120 + 10'240 + 5120 + 2560)},
      // Backward: scores, dQ, dK of width 8, dP, dV of width 8.
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
       "[[2, 2, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8], [2, 2, 6], [], [], [], []]",
       R"(["float", "float", "float", "float", "float", "float", "Scalar", "Scalar", "", ""])",
       R"(["", "", "", "", "", "", "0.", "False", "", ""])", 2 * 4 * 36 * 40, 4 * 8 * 192},
      // LSTM of two layers in two directions: 124 steps of sequences meet (20, 6), (20, 5) and (20, 10), (20, 5), twice each.
      {"aten::lstm",
       "[[62, 2, 6], [[4, 2, 5], [4, 2, 5]], [[20, 6], [20, 5], [20], [20], [20, 6], [20, 5], [20], [20], [20, 10], [20, 5], [20], [20], "
       "[20, 10], [20, 5], [20], [20]], [], [], [], [], [], []]",
       R"(["float", "TensorList", "TensorList", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])", "",
       2 * 124 * (2 * 220 + 2 * 300), 4 * (744 + 1040)},
      {"aten::gru", "[[62, 2, 10], [1, 2, 7], [[21, 10], [21, 7], [21], [21]], [], [], [], [], [], []]",
       R"(["float", "float", "TensorList", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])", "", 2 * 124 * 357,
       4 * (1240 + 357)},
      {"aten::mkldnn_rnn_layer_backward",
       "[[62, 2, 10], [20, 10], [20, 5], [20], [20], [2, 5], [2, 5], [62, 2, 5], [2, 5], [2, 5], [62, 2, 5]]",
       R"(["float", "float", "float", "float", "float", "float", "float", "float", "float", "float", "float"])", "", 2 * 2 * 124 * 300,
       2 * 4 * (1240 + 300)},
      // What moves data has no arithmetic.
      {"aten::native_layer_norm", "[[2, 6, 16], [], [16], [16], []]", R"(["float", "ScalarList", "float", "float", "Scalar"])", "", 0,
       4 * (192 + 16 + 16 + 192)},
      {"aten::add", "[[4, 1, 5], [3, 5], []]", R"(["float", "float", "Scalar"])", "", 0, 4 * (20 + 15 + 60)},
      {"aten::add_", "[[2, 7], [2, 7], []]", R"(["float", "float", "Scalar"])", "", 0, 4 * 42},
      {"aten::eq", "[[2, 7], []]", R"(["float", "Scalar"])", "", 0, 4 * 14 + 14},
      {"aten::copy_", "[[2, 7], [2, 7], []]", R"(["float", "c10::Half", "Scalar"])", "", 0, 4 * 14 + 2 * 14},
      {"aten::embedding", "[[11, 16], [2, 6], [], [], []]", R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", "", 0,
       8 * 12 + 4 * 2 * 12 * 16},
      {"aten::embedding_dense_backward", "[[2, 6, 16], [2, 6], [], [], []]", R"(["float", "long int", "Scalar", "Scalar", "Scalar"])",
       R"(["", "", "11", "-1", "False"])", 0, 4 * 192 + 8 * 12 + 4 * 11 * 16},
  }));
  CAPTURE(std::string(one.name), std::string(one.shapes));
  const auto found = cost_of(one.name, one.shapes, one.types, one.values);
  REQUIRE(found);
  CHECK(found->flops == one.flops);
  CHECK(found->bytes == one.bytes);
}

TEST_CASE("a cost says what kind of work it is, and of which type") {
  const auto found = cost_of("aten::bmm", "[[8, 64, 16], [8, 16, 64]]", R"(["c10::BFloat16", "c10::BFloat16"])");
  REQUIRE(found);
  CHECK(found->work == Work::product);
  CHECK(found->type == "bf16");
  CHECK(has_arithmetic("aten::bmm"));
  CHECK(has_rule("aten::relu_"));
  CHECK_FALSE(has_arithmetic("aten::relu_"));
  CHECK_FALSE(has_rule("fbgemm::mm"));
  CHECK_FALSE(has_rule("aten::reshape"));
}

TEST_CASE("what the recording does not tell has no cost") {
  // Before torch 2.1 a convolution's stride is not told, nor whether attention is causal; its types are not before 1.9.
  CHECK_FALSE(cost_of("aten::convolution", "[[2, 4, 16, 16], [8, 2, 3, 3], [8], [], [], [], [], [], []]", kConvTypes));
  CHECK_FALSE(cost_of("aten::scaled_dot_product_attention", "[[2, 2, 6, 8], [2, 2, 6, 8], [2, 2, 6, 8], [], [], []]", ""));
  const auto untyped = cost_of("aten::mm", "[[32, 1000], [1000, 2048]]", "[]");
  REQUIRE(untyped);
  CHECK(untyped->flops == 2.0 * 32 * 1000 * 2048);
  CHECK_FALSE(untyped->bytes);
  CHECK(untyped->type.empty());
  const auto lists = cost_of("aten::_foreach_add_", "[[[5], [6, 7]], []]", R"(["TensorList", "Scalar"])");
  REQUIRE(lists);
  CHECK_FALSE(lists->bytes);
}

TEST_CASE("hostile arguments have no cost") {
  const std::string deep(100'000, '['), long_number(1000, '9');
  for (const std::string& shapes :
       {std::string(), std::string("[]"), std::string("[["), std::string("]]]]"), deep, "[[" + long_number + "]]",
        std::string("[[9000000000000, 9000000000000], [9000000000000, 9000000000000]]"), std::string("[[[[1]]], [2]]"),
        std::string("[[-1, 3], [3, 4]]"), std::string("[\"x\"]")}) {
    CAPTURE(shapes.substr(0, 80));
    CHECK_FALSE(cost_of("aten::mm", shapes, R"(["float", "float"])"));
  }
  const std::string_view shapes = "[[2, 4, 16, 16], [8, 2, 3, 3], [8], [], [], [], [], [], []]";
  for (const std::string_view values : {"[", "[\"\\", R"(["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"])",
                                        R"(["", "", "", "[9999999999999999999]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"])",
                                        R"(["", "", "", "[2, 2]", "[1, 1]", "[9000000000, 1]", "False", "[0, 0]", "2"])"}) {
    CAPTURE(std::string(values));
    CHECK_FALSE(cost_of("aten::convolution", shapes, kConvTypes, values));
  }
}
