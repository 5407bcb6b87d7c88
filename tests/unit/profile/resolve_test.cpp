#include "annotator/profile/bundle/resolve.h"

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

TEST_CASE("a run that was stopped before its map step hides no complete one") {
  const TemporaryFolder folder;
  const std::filesystem::path store = folder.path() / ".hotlens" / "profiles";
  const auto write = [&](const std::string& name, bool mapped, const Json& stopped_by) {
    Json manifest = manifest_json();
    manifest["stopped_by"] = stopped_by;
    if (!mapped) manifest.erase("map_trace");
    std::filesystem::create_directories(store / name);
    write_text(store / name / "manifest.json", manifest.dump());
  };
  const auto latest = [&] { return resolve("latest", folder.path()).value().filename(); };

  write("20261120T000000Z-aaaaaa", false, "Ctrl-C");
  CHECK(latest() == "20261120T000000Z-aaaaaa");  // better than nothing
  write("20261121T000000Z-bbbbbb", true, nullptr);
  write("20261122T000000Z-cccccc", false, "SIGTERM");
  CHECK(latest() == "20261121T000000Z-bbbbbb");
  write("20261123T000000Z-dddddd", true, "Ctrl-C");  // stopped when it had all
  CHECK(latest() == "20261123T000000Z-dddddd");
  write("20261124T000000Z-eeeeee", false, nullptr);  // a script of few steps: as complete as it gets
  CHECK(latest() == "20261124T000000Z-eeeeee");
}

TEST_CASE("a manifest that is empty, cut short or broken hides no good bundle") {
  const TemporaryFolder folder;
  const std::filesystem::path store = folder.path() / ".hotlens" / "profiles";
  const auto write = [&](const std::string& name, const std::string& manifest) {
    std::filesystem::create_directories(store / name);
    write_text(store / name / "manifest.json", manifest);
  };
  const std::string good = manifest_json().dump();
  write("20261120T000000Z-aaaaaa", good + "\n");
  write("20261121T000000Z-bbbbbb", "");
  write("20261122T000000Z-cccccc", good.substr(0, good.size() / 2));
  write("20261123T000000Z-dddddd", good.substr(0, good.size() / 2) + std::string(good.size() / 2, '\0'));
  CHECK(bundles(folder.path()) == std::vector{store / "20261120T000000Z-aaaaaa"});
  write("20261124T000000Z-eeeeee", R"({"schema":"something else"})");
  CHECK(resolve("latest", folder.path()).value().filename() == "20261120T000000Z-aaaaaa");

  write("20261125T000000Z-ffffff", R"({"schema":"hotlens.bundle/99","hotlens":"9.0"})");  // to be said, not passed over
  CHECK(resolve("latest", folder.path()).value().filename() == "20261125T000000Z-ffffff");
}
