#include "server/session/client/loop.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace hotlens;
using session::Loop;

TEST_CASE("what a job gives or throws comes back to the strand as a Result") {
  Loop loop;
  std::vector<std::string> said;
  const auto done = [&](const Result<int>& result) {
    said.push_back(result ? std::to_string(*result) : result.error().message);
    if (said.size() == 3) loop.stop(0);
  };
  loop.work([] { return 7; },
            [&](const Result<int>& result) {
              done(result);
              loop.work([]() -> int { throw std::runtime_error("the reason"); },
                        [&](const Result<int>& thrown) {
                          done(thrown);
                          loop.work([]() -> Result<int> { return std::unexpected(Error{ErrorCode::usage, "no", {}}); }, done);
                        });
            });
  CHECK(loop.run() == 0);
  REQUIRE(said.size() == 3);
  CHECK(said[0] == "7");
  CHECK(said[1].find("the reason") != std::string::npos);
  CHECK(said[2] == "no");
}

TEST_CASE("a task of the strand that throws is told and costs nothing else") {
  Loop loop;
  std::vector<std::string> faults;
  loop.on_fault([&](const Error& error) { faults.push_back(error.message); });
  loop.post([] { throw std::runtime_error("in a task"); });
  const auto timer = loop.after(std::chrono::milliseconds(1), [&] {
    loop.post([&] { loop.stop(3); });
    throw std::runtime_error("in a timer");
  });
  CHECK(loop.run() == 3);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].find("in a task") != std::string::npos);
  CHECK(faults[1].find("in a timer") != std::string::npos);
}
