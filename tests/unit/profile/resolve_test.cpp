#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;

TEST_CASE("what a user types becomes a path") {
  const TemporaryFolder folder;
  const std::filesystem::path store = folder.path() / ".hotlens" / "profiles";
  for (const char* name : {"20261120T000000Z-aaaaaa", "20261121T000000Z-bbbbbb"}) {
    std::filesystem::create_directories(store / name);
    write_text(store / name / "manifest.json", "{}");
  }
  std::filesystem::create_directories(store / "20261122T000000Z-cccccc");  // no manifest: not complete
  std::filesystem::create_directories(store / "20261123T000000Z-dddddd.partial");
  write_text(store / "20261123T000000Z-dddddd.partial" / "manifest.json", "{}");
  std::filesystem::create_directories(folder.path() / "src" / "deep");
  write_text(folder.path() / "src" / "x.json", "{}");

  CHECK(resolve("latest", folder.path()).value().filename() == "20261121T000000Z-bbbbbb");
  CHECK(resolve("latest", folder.path() / "src" / "deep").value().filename() == "20261121T000000Z-bbbbbb");
  CHECK(resolve("20261120T000000Z-aaaaaa", folder.path() / "src").value() == store / "20261120T000000Z-aaaaaa");
  CHECK(resolve("x.json", folder.path() / "src").value() == folder.path() / "src" / "x.json");
  CHECK(resolve((store / "20261120T000000Z-aaaaaa").string(), "/").value() == store / "20261120T000000Z-aaaaaa");
  CHECK(resolve("nothing", folder.path()).error().code == ErrorCode::not_found);
  CHECK(resolve("../profiles", folder.path()).error().code == ErrorCode::not_found);
  CHECK(resolve("", folder.path()).error().code == ErrorCode::usage);
}

TEST_CASE("no profile yet: the message says how to get one") {
  const TemporaryFolder folder;
  const auto found = resolve("latest", folder.path());
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().message.find("hotlens run") != std::string::npos);
}
