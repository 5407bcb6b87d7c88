#include "annotator/common/attempt.h"

#include <filesystem>
#include <new>
#include <stdexcept>

#include "tests/unit/catch.h"

using namespace hotlens;

TEST_CASE("what work gives comes through, a Result as it is") {
  CHECK(attempt([] { return 7; }) == 7);
  CHECK(attempt([] {}).has_value());
  CHECK(attempt([]() -> Result<int> { return 8; }) == 8);
  const Result<int> refused = attempt([]() -> Result<int> { return std::unexpected(Error{ErrorCode::usage, "no", {}}); });
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("what work throws is a sentence") {
  const auto said = [](auto work) { return attempt(work).error().message; };
  CHECK(said([]() -> int { throw std::bad_alloc(); }).find("memory") != std::string::npos);
  CHECK(said([]() -> int { throw std::runtime_error("the reason"); }).find("the reason") != std::string::npos);
  CHECK(said([]() -> int { throw 5; }).find("please report it") != std::string::npos);
  const Result<std::uintmax_t> folder = attempt([] { return std::filesystem::file_size("/"); });
  REQUIRE_FALSE(folder.has_value());
  CHECK(folder.error().where == "/");
}
