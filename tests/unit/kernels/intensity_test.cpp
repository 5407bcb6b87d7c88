#include "annotator/kernels/intensity.h"

#include <string>

#include "tests/unit/catch.h"

using namespace hotlens::kernels;

TEST_CASE("a product's operations per byte follow from its shapes") {
  const auto square = product("aten::mm", "[[1024, 1024], [1024, 1024]]", R"(["float", "float"])");
  REQUIRE(square);
  CHECK(square->flops_per_byte == Approx(1024.0 / 6));
  CHECK_FALSE(is_bound_by_memory(*square));
  // One decoding step of a language model's head: 32 rows against 201,088 columns.
  const auto decoding = product("aten::mm", "[[32, 2880], [2880, 201088]]", R"(["c10::BFloat16", "c10::BFloat16"])");
  REQUIRE(decoding);
  CHECK(decoding->flops_per_byte == Approx(31.6).margin(0.1));
  CHECK(is_bound_by_memory(*decoding));
  const auto with_bias = product("aten::addmm", "[[512], [141, 512], [512, 2048], [], []]",
                                 R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"])");
  REQUIRE(with_bias);
  CHECK_FALSE(is_bound_by_memory(*with_bias));
  CHECK(product("aten::bmm", "[[8, 64, 1], [8, 1, 64]]", R"(["float", "float"])")->flops_per_byte < 1);
}

TEST_CASE("what tells no product gives none") {
  const std::string types = R"(["float", "float"])";
  for (const char* dims : {"", "[]", "[[]]", "[[2, 3], [4, 5]]", "[[2, 3]]", "[[0, 0], [0, 0]]", "[[[[1]]]]",
                           "[[99999999999999999999, 2], [2, 2]]", "[[2, \"x\"], [2, 2]]", "[[2, 3], [3"}) {
    CAPTURE(dims);
    CHECK_FALSE(product("aten::mm", dims, types));
  }
  CHECK_FALSE(product("aten::mul", "[[2, 3], [3, 4]]", types));
  CHECK_FALSE(product("aten::mm", "[[2, 3], [3, 4]]", R"(["long", "long"])"));
  CHECK_FALSE(product("aten::mm", "[[" + std::string(100'000, '1') + "]]", types));
}
