#include "server/session/profiling/profiling.h"

#include <signal.h>

#include "tests/unit/catch.h"
#include "tests/unit/session/heard.h"

using namespace hotlens;
using namespace hotlens::session;
using protocol::Json;

namespace {

// Runs of shell scripts: no recorder, no documents, no profiles.
struct Bench {
  Loop loop;
  test::Heard heard;
  Workspace workspace;
  Result<Plan> plan = std::unexpected(Error{ErrorCode::usage, "Nothing to run.", {}});
  int changed = 0, refused = 0;
  std::vector<std::filesystem::path> recorded;
  std::string blocked;
  Profiling::Shared latest;
  std::vector<std::string> arguments_refused, finished, undecided, python_unfit;
  Profiling profiling{
      loop,
      heard.client,
      workspace,
      {.plan = [this](const PlanInput&) { return plan; },
       .latest = [this](const std::filesystem::path&) { return latest; },
       .changed = [this] { ++changed; },
       .refused = [this] { ++refused; },
       .recorded = [this](const std::filesystem::path& bundle) { recorded.push_back(bundle); },
       .arguments_refused = [this](const ProfileArguments&, const std::string& message) { arguments_refused.push_back(message); },
       .python_unfit = [this](const ProfileArguments&, const std::string& message) { python_unfit.push_back(message); },
       .blocked = [this] { return blocked; },
       .undecided = [this](const ProfileArguments&, const Target& target) { undecided.push_back(target.name()); },
       .finished = [this](const std::string& name, const std::string&,
                          bool first) { finished.push_back(name + (first ? " first" : "")); }}};

  // `script` speaks the recorder's protocol on descriptor 3.
  Json start(const std::string& script) {
    Plan made{.request = {}, .command = {"train.py"}, .script = "/w/train.py", .unsaved = {}};
    made.request.argv = {"/bin/sh", "-c", script};
    plan = made;
    return start();
  }
  Json start() {
    const test::Asked asked;
    profiling.profile(Json::object(), asked.reply());
    REQUIRE(test::run_until(loop, [&] { return !asked.outcome->is_null(); }));
    return asked.result();
  }
  bool ends() {
    return test::run_until(loop, [&] { return !profiling.running(); });
  }
};

constexpr const char* kRecords = R"(printf '{"phase":"done","bundle":"/w/.hotlens/profiles/b"}\n' >&3)";

}  // namespace

TEST_CASE("a run ends when its bundle was read") {
  Bench bench;
  const Json started = bench.start(kRecords);
  CHECK(started["started"] == true);
  CHECK(started["script"] == "/w/train.py");
  REQUIRE(test::run_until(bench.loop, [&] { return !bench.recorded.empty(); }));
  CHECK(bench.recorded.front() == "/w/.hotlens/profiles/b");
  CHECK(bench.profiling.reading());
  CHECK(bench.profiling.cancel(Json())->at("cancelled") == false);
  bench.profiling.bundle_read();
  CHECK_FALSE(bench.profiling.running());
  CHECK(bench.profiling.message().empty());
  CHECK(bench.changed == 2);
  CHECK(bench.finished == std::vector<std::string>{"train.py first"});
}

TEST_CASE("the first profile of a script follows no other, and is not for somebody who went on to something else") {
  for (const bool went_on : {false, true}) {
    for (const bool known : {false, true}) {
      Bench bench;
      if (known) bench.latest = std::make_shared<const profile::Profile>();
      bench.start(kRecords);
      if (went_on) bench.profiling.went_on();
      REQUIRE(test::run_until(bench.loop, [&] { return !bench.recorded.empty(); }));
      bench.profiling.bundle_read();
      CHECK(bench.finished == std::vector<std::string>{went_on || known ? "train.py" : "train.py first"});
    }
  }
}

TEST_CASE("a bundle that cannot be read is the run's failure") {
  Bench bench;
  bench.start(kRecords);
  REQUIRE(test::run_until(bench.loop, [&] { return !bench.recorded.empty(); }));
  bench.profiling.bundle_unreadable("it is broken");
  bench.profiling.bundle_read();
  CHECK(bench.profiling.message() == "it is broken");
  CHECK(bench.finished.empty());
}

TEST_CASE("a run that somebody has to decide about does not start, and keeps nobody else from running") {
  Bench bench;
  bench.plan = Plan{.script = "/w/train.py", .undecided = Target{.folder = "/w", .start = "/w", .script = "/w/train.py"}};
  CHECK(bench.start() == Json{{"started", false}, {"asked", true}});
  CHECK(bench.undecided == std::vector<std::string>{"train.py"});
  CHECK_FALSE(bench.profiling.running());
  CHECK(bench.profiling.message().empty());
  CHECK(bench.start("exit 1")["started"] == true);
  CHECK(bench.ends());
}

TEST_CASE("nothing runs beside work that it would disturb, and the reason is said") {
  Bench bench;
  bench.blocked = "A change is being verified.";
  const Json refused = bench.start(kRecords);
  CHECK(refused["started"] == false);
  CHECK(refused["message"] == bench.blocked);
  CHECK(bench.heard.of("window/showMessage").size() == 1);
  CHECK_FALSE(bench.profiling.running());
  bench.blocked.clear();
  CHECK(bench.start(kRecords)["started"] == true);
}

TEST_CASE("one run at a time, and it can be cancelled") {
  Bench bench;
  const Json first = bench.start("sleep 60"), second = bench.start("sleep 60");
  CHECK(second["started"] == false);
  CHECK(second["runId"] == first["runId"]);
  CHECK(bench.profiling.cancel({{"runId", first["runId"].get<int>() + 1}})->at("cancelled") == false);
  CHECK(bench.profiling.cancel({{"runId", "x"}}).error().code == protocol::Code::invalid_params);
  CHECK(bench.profiling.cancel(Json())->at("cancelled") == true);
  CHECK(bench.ends());
  CHECK(bench.profiling.message().empty());
  CHECK(bench.start("true")["runId"] == first["runId"].get<int>() + 1);
  CHECK(bench.ends());
}

TEST_CASE("a script that fails is said, with its last line") {
  Bench bench;
  bench.start("echo the last line >&2; exit 3");
  REQUIRE(bench.ends());
  CHECK(bench.profiling.message() == "train.py ended with exit code 3. Nothing was recorded. Its last line was: the last line");
  CHECK(bench.heard.of("window/showMessage").back()["message"] == bench.profiling.message());
}

TEST_CASE("a script that does not like its arguments is told in its own words, to whoever can change them") {
  const auto said = [](const std::string& script) {
    Bench bench;
    bench.start(script);
    REQUIRE(bench.ends());
    CHECK(bench.arguments_refused.size() + bench.heard.of("window/showMessage").size() == 1);
    return bench.arguments_refused.empty() ? "" : bench.arguments_refused.front();
  };
  CHECK(said("printf 'usage: train.py [-h] --data DATA\\ntrain.py: error: the following arguments are required: --data\\n' >&2; exit 2") ==
        "train.py exited with code 2: the following arguments are required: --data");
  CHECK(said("printf 'Usage: train.py [OPTIONS]\\n\\nError: Missing option --data.\\n' >&2; exit 2") ==
        "train.py exited with code 2: Missing option --data.");
  CHECK(said("echo 'usage: train.py DATA' >&2; exit 1") == "train.py exited with code 1: it does not accept its arguments.");
  CHECK(said("echo 'error: no space left' >&2; exit 1").empty());
  CHECK(said("exit 0").empty());
  const std::string raised =
      R"(printf '{"phase":"failed","error":{"type":"ValueError","message":"usage"}}\n' >&3; echo 'usage: x' >&2; exit 2)";
  CHECK(said(raised).empty());
}

TEST_CASE("what cannot be planned is refused with its reason") {
  Bench bench;
  CHECK(bench.start()["message"] == "Nothing to run.");
  CHECK((bench.refused == 1 && bench.changed == 0));
  CHECK(bench.profiling.message() == "Nothing to run.");
  bench.workspace.trusted = false;
  CHECK(bench.start("touch /nothing/is/run")["started"] == false);
  CHECK_FALSE(bench.profiling.running());
}

TEST_CASE("a shutdown ends the run, and one that is being planned never starts") {
  Bench bench;
  bench.start("sleep 60");
  bench.profiling.shut_down();
  CHECK(test::run_until(bench.loop, [&] { return !bench.profiling.running(); }));

  Bench other;
  other.plan = Plan{.request = {.argv = {"/bin/sh", "-c", "sleep 60"}}, .command = {"x"}, .script = {}, .unsaved = {}};
  const test::Asked asked;
  other.profiling.profile(Json::object(), asked.reply());
  other.profiling.shut_down();
  REQUIRE(test::run_until(other.loop, [&] { return !asked.outcome->is_null(); }));
  CHECK(asked.error() == -32800);
}
