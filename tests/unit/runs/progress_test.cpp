#include "server/runs/progress.h"

#include "server/runs/lines.h"
#include "tests/unit/catch.h"

using namespace hotlens::runs;

TEST_CASE("each phase of the recorder is read") {
  const auto step = parse_progress(R"({"phase":"warmup","step":2,"of":3})");
  REQUIRE(step);
  CHECK((step->phase == Phase::warmup && step->step == 2 && step->of == 3));
  for (const std::string phase : {"start", "warmup", "plain", "measured", "map", "program", "write", "done", "failed"}) {
    REQUIRE(parse_progress(R"({"phase":")" + phase + "\"}"));
    CHECK(name(parse_progress(R"({"phase":")" + phase + "\"}")->phase) == phase);
  }
}

TEST_CASE("the end carries the bundle or the failure") {
  CHECK(parse_progress(R"({"phase":"done","bundle":"/w/b"})")->bundle == "/w/b");
  const auto failed =
      parse_progress(R"({"phase":"failed","error":{"type":"ValueError","message":"no","file":"/w/m.py","line":41,"traceback":"T"}})");
  REQUIRE(failed->failure);
  CHECK((failed->failure->type == "ValueError" && failed->failure->file == "/w/m.py" && failed->failure->line == 41U));
  CHECK(parse_progress(R"({"phase":"failed","message":"why","error":null})")->failure->message == "why");
  CHECK_FALSE(parse_progress(R"({"phase":"failed","error":{"line":-1}})")->failure->line);
  const auto said = parse_progress(R"({"phase":"failed","message":"t.py ended with code 2"})");
  CHECK((said->failure->type.empty() && said->failure->sentence == "t.py ended with code 2"));
}

TEST_CASE("lines that are not the recorder's are ignored") {
  for (const std::string line : {"", "{", "[]", "text", R"({"phase":5})", R"({"phase":"other"})", R"({"step":1})", "\xff"}) {
    CHECK_FALSE(parse_progress(line));
  }
}

TEST_CASE("lines end at any mark, in any chunking, and are bounded") {
  const std::string bytes = "a\nb\r\n\rc\r" + std::string(200'000, 'x') + "\nlast";
  for (const std::size_t chunk : {1U, 3U, 1000U, 1'000'000U}) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
    for (std::size_t at = 0; at < bytes.size(); at += chunk) splitter.feed(std::string_view(bytes).substr(at, chunk), sink);
    splitter.finish(sink);
    CHECK(lines == std::vector<std::string>{"a", "b", "c", std::string(kMaxLineBytes, 'x'), "last"});
  }
}

TEST_CASE("the places of a traceback, outermost first") {
  const auto frames = frames_of(
      "Traceback (most recent call last):\n  File \"/w/a b.py\", line 12, in <module>\n    train()\n"
      "  File \"/w/m \\\"é.py\", line 7, in forward\n    x(\"\", line 9)\n  File \"<string>\", line 1\nValueError: File \"no\", line 3\n");
  REQUIRE(frames.size() == 3);
  CHECK((frames[0].file == "/w/a b.py" && frames[0].line == 11));
  CHECK((frames[1].file == "/w/m \\\"é.py" && frames[1].line == 6));
  CHECK(frames[2].file == "<string>");
  const auto cells = frames_of("  File \"/w/a.ipynb cell 3\", line 5, in <module>\n  File \"/w/a.ipynb cell x\", line 5, in f\n");
  REQUIRE(cells.size() == 2);
  CHECK((cells[0].file == "/w/a.ipynb" && cells[0].line == 4 && cells[0].cell == 3));
  CHECK((cells[1].file == "/w/a.ipynb cell x" && cells[1].cell == 0));
  CHECK(frames_of("").empty());
  CHECK(frames_of("  File \"x\", line \n  File \"x\", line 0, in f\n").empty());
}
