// What is told of a run that goes on, and of one that could not train.
#include "server/session/profiling/sentences.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::session;
using std::chrono::seconds;

TEST_CASE("progress tells the time that passed, and a rough rest once steps run") {
  CHECK(timed_words("Starting the script", seconds(0), std::nullopt, 0) == "Starting the script");
  CHECK(timed_words("Starting the script", seconds(9), std::nullopt, 0) == "Starting the script · 9 s");
  CHECK(timed_words("Warming up, step 1 of 3", seconds(12), seconds(3), 14) == "Warming up, step 1 of 3 · 12 s");
  // 46 of 92 hundredths took 6 s: as long again.
  CHECK(timed_words("Measuring each layer, step 2 of 3", seconds(12), seconds(6), 51) ==
        "Measuring each layer, step 2 of 3 · 12 s, about 6 s left");
  CHECK(timed_words("Warming up", seconds(90), seconds(80), 15) == "Warming up · 1 min 30 s, about 10 min 56 s left");
  CHECK(timed_words("Reading the profile", seconds(12), seconds(6), 97) == "Reading the profile · 12 s");
}

TEST_CASE("another interpreter is offered where this one lacks what the script needs, and nowhere else") {
  const auto failed = [](std::string type, std::string sentence) {
    return runs::RunEnd{.exit_code = 1, .failure = runs::Failure{.type = std::move(type), .sentence = std::move(sentence)}};
  };
  const std::string missing =
      "PyTorch is not installed for /bin/python. Choose the interpreter that trains: --python EXE; or install it: pip";
  CHECK(python_unfit(failed("", missing)));
  CHECK(failure_words("train.py", failed("", missing)) ==
        "PyTorch is not installed for /bin/python. Choose the interpreter that trains, or install it: pip");
  CHECK(python_unfit(failed("ModuleNotFoundError", "")));
  CHECK(python_unfit({.error = Error{ErrorCode::not_found, "cannot be started", {}}}));
  CHECK_FALSE(python_unfit(failed("RuntimeError", "")));
  CHECK_FALSE(python_unfit(failed("", "no training step was seen")));
  CHECK_FALSE(python_unfit({.exit_code = 2}));
}
