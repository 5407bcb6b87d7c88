// `hotlens/timeline/text` on traces that are written here, as a client asks for it.
#include <algorithm>
#include <array>
#include <random>

#include "annotator/common/format.h"
#include "server/timeline/answers.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::timeline_requests;
using protocol::Json;

namespace {

// Times in microseconds. Each step is 1000 long: Net holds `layer` for 800 (the second step: 600), which holds two operators; the second
// step has an operator that the others lack. With a `device` each operator launches a kernel that runs 100 later.
std::string trace_of(const std::string& layer, int steps = 3, bool device = false) {
  profile::TraceWriter trace;
  const auto module = [&](const std::string& name, double start, double duration, int id, int parent) {
    Json args{{"Python id", id}, {"Python parent id", nullptr}};
    if (parent > 0) args["Python parent id"] = parent;
    trace.add("python_function", "nn.Module: " + name, start, duration, args);
  };
  int launches = 0;
  const auto op = [&](const std::string& name, double start, double duration) {
    trace.op(name, start, duration);
    if (!device) return;
    trace.add("cuda_runtime", "cudaLaunchKernel", start + 1, 3, {{"correlation", ++launches}});
    trace.add("kernel", "kernel of " + name, start + 100, duration / 2, {{"correlation", launches}, {"device", 0}, {"stream", 7}});
  };
  for (int step = 0; step < steps; ++step) {
    const double at = 1000.0 + 1000 * step, inner = step == 1 ? 600 : 800;
    trace.range("ProfilerStep#" + std::to_string(step + 5), at, 1000);
    module("Net_0", at + 10, inner + 40, (2 * step) + 1, 0);
    module(layer, at + 20, inner, (2 * step) + 2, (2 * step) + 1);
    op("aten::linear", at + 21, inner / 2);
    op(step == 1 ? "aten::rare" : "aten::relu", at + 21 + inner / 2, inner / 4);
  }
  return trace.text();
}

// A client with one profile.
class Reader {
 public:
  explicit Reader(const std::string& trace, std::size_t columns = 98) : columns_(columns) {
    const auto file = folder_.path() / "x.pt.trace.json";
    profile::write_text(file, trace);
    library_ = std::make_unique<Library>(Library::Sources{.list = [file] { return std::vector{file}; }, .finish = nullptr});
  }

  Reader& press(std::initializer_list<const char*> keys) {
    Json actions = Json::array();
    for (const char* key : keys) actions.push_back({{"does", key}});
    return ask(std::move(actions));
  }
  Reader& ask(Json actions) {
    const auto given = answer(*library_, "hotlens/timeline/text", {{"view", view}, {"actions", std::move(actions)}, {"columns", columns_}});
    INFO((given ? "" : given.error().message));
    REQUIRE(given);
    shown = *given;
    view = shown["view"];
    return *this;
  }
  std::string refused(const Json& params) {
    const auto given = answer(*library_, "hotlens/timeline/text", params);
    REQUIRE_FALSE(given);
    return given.error().message;
  }

  std::string line(std::size_t at) const { return shown["lines"].at(at); }
  // The first line that begins so; empty where none does.
  std::string line(std::string_view begin) const {
    for (const Json& each : shown["lines"]) {
      if (each.get<std::string>().starts_with(begin)) return each;
    }
    return "";
  }
  bool says(std::string_view text) const {
    return std::ranges::any_of(shown["lines"], [&](const Json& each) { return each.get<std::string>().find(text) != std::string::npos; });
  }

  Json shown, view = Json::object();

 private:
  profile::TemporaryFolder folder_;
  std::unique_ptr<Library> library_;
  std::size_t columns_;
};

}  // namespace

TEST_CASE("the first picture is the representative step, its first block chosen and told") {
  Reader reader(trace_of("Linear_0"));
  reader.press({});
  CHECK(reader.line(std::size_t{0}) == "step 5  1.00 ms");
  CHECK(reader.line(1).starts_with(std::string(18, ' ') + "╷0"));
  CHECK(reader.line(2).starts_with("CPU main           ▏forward 840 µs"));
  CHECK(reader.line("▸") == "▸ forward · stage · 840 µs · 84.0 % of the step · CPU main");
  CHECK(reader.shown["cursor"] == Json({2, 19}));
  CHECK(reader.shown["seen"]["path"] == Json::array());
  CHECK(reader.shown["seen"]["to"] == 1'000'000);
  const auto selected = std::ranges::find(reader.shown["marks"], Json("selected"), [](const Json& mark) { return mark[3]; });
  REQUIRE(selected != reader.shown["marks"].end());
  CHECK((*selected)[1] == 19);
}

TEST_CASE("blocks open and close, the cursor walks between the levels") {
  Reader reader(trace_of("Linear_0"));
  reader.press({"open"});
  CHECK(reader.shown["seen"]["path"].size() == 1);
  CHECK(reader.says("forward › Net_0  "));
  const std::size_t lines = reader.shown["lines"].size();
  reader.press({"open"});
  CHECK(reader.line("▸").starts_with("▸ aten::linear · operator · 400 µs"));
  CHECK(reader.shown["lines"].size() > lines);
  reader.press({"right"});
  CHECK(reader.line("▸").starts_with("▸ aten::relu · operator · 200 µs"));
  reader.press({"first", "above", "above"});
  CHECK(reader.line("▸").starts_with("▸ forward · stage"));
  reader.press({"last", "up"});
  CHECK(reader.line("▸").starts_with("▸ Linear_0"));
  reader.press({"up", "up"});
  CHECK(reader.line(std::size_t{0}) == "recording  3.00 ms");
  CHECK(reader.line("▸") == "▸ step 5 · step · 1.00 ms · 33.3 % of the recording · steps");
  reader.press({"up"});
  CHECK(reader.says("there is no level above it"));
  reader.press({"right", "right", "open"});
  CHECK(reader.line(std::size_t{0}).starts_with("step 7"));
}

TEST_CASE("zoom, pan and fit change what is seen of the lowest level, and the chosen block stays") {
  Reader reader(trace_of("Linear_0"));
  reader.press({"pan_left"});
  CHECK(reader.says("All of this level is seen"));
  reader.press({"open", "open", "right", "zoom_to_block"});
  CHECK(reader.shown["seen"]["from"] == 421'000);
  CHECK(reader.shown["seen"]["to"] == 621'000);
  CHECK(reader.line("▸").starts_with("▸ aten::relu"));
  reader.press({"zoom_in"});
  CHECK(reader.shown["seen"]["from"] == 471'000);
  CHECK(reader.shown["seen"]["to"] == 571'000);
  reader.press({"pan_right"});
  CHECK(reader.shown["seen"]["from"] == 491'000);
  reader.press({"sum"});
  CHECK(reader.says("Σ 100 µs, from 491 µs to 591 µs"));
  CHECK(reader.says("operators: relu ×1 100 µs"));
  reader.press({"left"});
  CHECK(reader.says("Σ 100 µs"));
  reader.press({"fit"});
  CHECK_FALSE(reader.says("Σ"));
  CHECK(reader.shown["seen"]["from"] == 20'000);
}

TEST_CASE("steps follow one another, and two of them are compared") {
  Reader reader(trace_of("Linear_0"));
  reader.press({"previous_step"});
  CHECK(reader.line(std::size_t{0}).starts_with("step 5"));
  reader.press({"next_step", "next_step", "next_step"});
  CHECK(reader.line(std::size_t{0}).starts_with("step 7"));
  reader.press({"compare"});
  CHECK(reader.line("step 7 against step 5: ") == "step 7 against step 5: 1.00 ms → 1.00 ms, +0 ns (+0.0 %)");
  reader.press({"previous_step", "compare"});
  CHECK(reader.line("step 6 against step 5: ").starts_with("step 6 against step 5: 1.00 ms → 1.00 ms"));
  CHECK(reader.line("  ▼ ").find("840 µs → 640 µs") != std::string::npos);
  reader.press({"recording", "compare"});
  CHECK(reader.says("open it first"));
  Reader alone(trace_of("Linear_0", 1));
  alone.press({"compare"});
  CHECK(alone.says("This profile has one step"));
}

TEST_CASE("a search goes from match to match, also into the step that alone has it") {
  Reader reader(trace_of("Linear_0"));
  reader.press({"next_match"});
  CHECK(reader.says("Nothing was searched for yet."));
  reader.ask({{{"does", "search"}, {"query", "linear"}}});
  CHECK(reader.says("1 of 2: Net_0/Linear_0"));
  CHECK(reader.line("▸").starts_with("▸ Linear_0"));
  reader.press({"next_match"});
  CHECK(reader.says("2 of 2: aten::linear"));
  reader.press({"next_match"});
  CHECK(reader.says("1 of 2: "));
  reader.press({"previous_match"});
  CHECK(reader.line("▸").starts_with("▸ aten::linear"));
  reader.ask({{{"does", "search"}, {"query", "rare"}}});
  CHECK(reader.line(std::size_t{0}).starts_with("step 6"));
  CHECK(reader.says("1 of 1: aten::rare"));
  CHECK(reader.line("▸").starts_with("▸ aten::rare"));
  reader.ask({{{"does", "search"}, {"query", "nobody\x1b"}}});
  CHECK(reader.says("Nothing in any step is named nobody?."));
}

TEST_CASE("names of a trace draw nothing but themselves, in every width") {
  for (const std::size_t columns : {std::size_t{0}, std::size_t{40}, std::size_t{77}, std::size_t{100'000}}) {
    Reader reader(trace_of("Evil\x1b[2J\x07\r_" + std::string(200, 'x') + "漢字_0"), columns);
    reader.press({"open", "open"});
    const std::size_t width = std::clamp<std::size_t>(columns, 40, 500);
    CAPTURE(columns);
    CHECK(format::width(reader.line("CPU main")) == width);
    for (const Json& line : reader.shown["lines"]) {
      const auto text = line.get<std::string>();
      CHECK(format::harmless(text) == text);
      CHECK(format::width(text) <= 500);
    }
  }
}

TEST_CASE("a view that is out of date leads to the nearest there is") {
  Reader reader(trace_of("Linear_0"));
  reader.press({"open"});
  reader.view["path"].push_back("nobody");
  reader.view["zoom"] = {{"from", 5}, {"to", 2}};
  reader.press({});
  CHECK(reader.shown["seen"]["path"].size() == 1);
  CHECK(reader.says("This step has no such block. This is the nearest level that it has."));
  reader.view["step"] = 99;
  reader.view["path"] = Json::array();
  reader.view["cursor"] = {{"depth", 7}, {"track", "cpu"}, {"at", 0}};
  reader.view["search"] = {{"query", "linear"}, {"step", 99}, {"match", 99}};
  reader.press({"next_match"});
  CHECK(reader.line(std::size_t{0}).starts_with("step 5"));
  CHECK(reader.line("▸").starts_with("▸ forward"));
  reader.view["cursor"] = {{"depth", 0}, {"track", reader.view["cursor"]["track"]}, {"at", 1'000'000'000'000}};
  reader.press({});
  CHECK(reader.line("▸").starts_with("▸ forward"));
  reader.view["cursor"]["track"] = "nobody";
  reader.view["zoom"] = {{"from", 900}, {"to", -900}};
  reader.press({"zoom_out", "pan_left", "zoom_in", "sum"});
  CHECK(reader.says("Σ"));
}

TEST_CASE("a block that was chosen elsewhere is shown in its level; the newest profile is shown from its step on") {
  Reader reader(trace_of("Linear_0"));
  reader.press({"open", "open"});
  const Json path = reader.shown["seen"]["path"];
  reader.press({"recording"});
  reader.ask({{{"does", "select"}, {"path", path}, {"step", 1}}});
  CHECK(reader.line(std::size_t{0}).starts_with("step 6"));
  CHECK(reader.line("▸").starts_with("▸ Linear_0"));
  reader.press({"latest"});
  CHECK(reader.line(std::size_t{0}).starts_with("step 5"));
  CHECK(reader.shown["seen"]["path"] == Json::array());
  reader.ask({{{"does", "select"}, {"path", {"nobody"}}}});
  CHECK(reader.line("▸").starts_with("▸ forward"));
}

TEST_CASE("what cannot be read is refused with a sentence") {
  Reader reader(trace_of("Linear_0"));
  CHECK(reader.refused({{"columns", "wide"}}) == "expected an integer from 0 to 2147483647 at /columns");
  CHECK(reader.refused({{"columns", 80}, {"view", {{"path", 3}}}}).find("/view/path") != std::string::npos);
  CHECK(reader.refused({{"columns", 80}, {"view", {{"profile", "gone"}}}}).find("gone") != std::string::npos);
  CHECK(reader.refused({{"columns", 80}, {"actions", {{{"does", "dance"}}}}}) == "expected an action of the protocol at /actions/0/does");
  Json many = Json::array();
  for (int at = 0; at < 201; ++at) many.push_back({{"does", "left"}});
  CHECK(reader.refused({{"columns", 80}, {"actions", many}}).find("at most 200 actions") != std::string::npos);
}

TEST_CASE("random keys: one block is chosen, marks stay within their lines, and the view is enough to go on from") {
  constexpr std::array kKeys{"open",          "up",      "left",      "right", "above",         "below",    "first",
                             "last",          "zoom_in", "zoom_out",  "fit",   "zoom_to_block", "pan_left", "pan_right",
                             "next_step",     "unfold",  "recording", "sum",   "compare",       "line",     "next_match",
                             "previous_step", "open",    "below",     "open"};
  std::mt19937 random(GENERATE(range(1U, 12U)));
  const auto any = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  Reader reader(trace_of("Linear_0", 3, true), 40 + any(120));
  reader.ask({{{"does", "search"}, {"query", "l"}}});
  for (int round = 0; round < 60; ++round) {
    const char* key = kKeys[any(kKeys.size())];
    CAPTURE(round, key, reader.view.dump());
    reader.press({key});
    std::size_t selected = 0;
    for (const Json& mark : reader.shown["marks"]) {
      CHECK(mark[1] < mark[2]);
      CHECK(mark[2] <= reader.line(mark[0].get<std::size_t>()).size());
      selected += mark[3] == "selected" ? 1 : 0;
    }
    CHECK(selected == 1);
    CHECK(reader.line("▸").size() > 3);
    const Json before = reader.shown["lines"];
    reader.press({});
    if (!reader.says("recording") && before.size() == reader.shown["lines"].size()) CHECK(reader.shown["lines"] == before);
  }
}

TEST_CASE("work of a device is below the host's, and leads back to the launch's block") {
  Reader reader(trace_of("Linear_0", 3, true));
  reader.press({"below"});
  CHECK(reader.line("▸").starts_with("▸ forward · stage · 100 µs of 300 µs"));
  CHECK(reader.line("▸").ends_with("GPU 1 stream 1"));
  CHECK(reader.says("device 300 µs"));
  CHECK(reader.says("  200 µs  kernel ×1"));
  reader.press({"open", "below", "open", "below"});
  CHECK(reader.line("▸").ends_with("GPU 1 stream 1"));
  reader.press({"sum"});
  CHECK(reader.says("the device busy for 300 µs"));
}
