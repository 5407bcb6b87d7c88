#include "server/features/features.h"
#include "server/features/words/describe.h"

#include <algorithm>

#include "annotator/profile/loop.h"
#include "annotator/profile/saved.h"
#include "server/features/commands.h"
#include "server/features/hints/hint_memory.h"
#include "server/features/lines/line_summary.h"
#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;
using test::cpu;
using test::label_at;
using test::Opened;

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a line made by several instances shows their sum once, with their number") {
  const Opened opened;
  const auto hints = inlay_hints(test::open(opened.profile), {}, {});
  // (1.0 + 1.0 + 2.0 + 2.0) ms of the 11 ms of the shown step. ModuleList has no time of its own.
  CHECK(label_at(hints, 5) == "6.00 ms 55% ×2");
  CHECK(label_at(hints, 6) == "2.00 ms 18%");
}

TEST_CASE("a container that is never called has the time of all that it holds, and its name") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  const auto tooltip = [&] {
    const auto hints = inlay_hints(test::open(profile), {}, {});
    return std::ranges::find(hints, 5U, [](const Hint& hint) { return hint.at.line; })->tooltip;
  };
  CHECK_THAT(tooltip(), Catch::Contains("**layers** ModuleList") && Catch::Contains("6.00 ms") && Catch::Contains("2 modules"));

  // A ModuleDict whose statement makes the list and another entry: the list's modules are part of it.
  profile->modules[1].class_name = "ModuleDict";
  profile->modules[1].children = {{2}, {5}};
  profile->modules[3].parent = {5};
  profile->modules.push_back(
      {.path = "layers.more", .class_name = "ModuleList", .parent = {1}, .children = {{3}}, .attached = profile->modules[1].attached});
  profile->modules[3].attached.reset();
  CHECK_THAT(tooltip(), Catch::Contains("**layers** ModuleDict") && Catch::Contains("6.00 ms") && Catch::Contains("2 modules"));
}

TEST_CASE("a call line shows what ran on it, forward and backward, with its executions") {
  const Opened opened;
  const auto hints = inlay_hints(test::open(opened.profile), {}, {});
  CHECK(label_at(hints, 10) == "6.20 ms 56% ×2");
  CHECK(label_at(hints, 11) == "2.10 ms 19%");
}

TEST_CASE("a line too long for a window has its hint before its text, by its characters") {
  const Opened opened;
  const FileView view = test::open(opened.profile);
  const auto at = [&](std::size_t long_line) {
    const auto hints = inlay_hints(view, {}, {.long_line = long_line});
    return *std::ranges::find(hints, 10U, [](const Hint& hint) { return hint.at.line; });
  };
  std::string_view text = view.tree.text();
  for (int line = 0; line < 10; ++line) text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, text.find('\n'));
  const auto indent = static_cast<std::uint32_t>(text.find_first_not_of(' '));
  CHECK((!at(0).before && at(0).at.column == text.size()));
  CHECK((!at(text.size()).before && at(text.size()).at.column == text.size()));
  CHECK((at(text.size() - 1).before && at(text.size() - 1).at.column == indent));
  CHECK(at(text.size() - 1).label == at(0).label);
}

TEST_CASE("a class line shows all instances, a stage line its wall time") {
  const Opened opened;
  const auto hints = inlay_hints(test::open(opened.profile), {}, {});
  CHECK(label_at(hints, 2) == "8.00 ms 73%");
  CHECK(label_at(hints, 15) == "5.00 ms 45%");
  CHECK(label_at(hints, 16) == "2.00 ms 18%");
}

TEST_CASE("a line that makes a module and runs the loop shows the loop") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->modules[4].attached = profile->stage_sites[0].site;
  CHECK(label_at(inlay_hints(test::open(profile), {}, {}), 15) == "5.00 ms 45%");
}

TEST_CASE("a line that calls a module and does more says what of it is the module's") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->lines[1].forward[0].cpu_total = profile->lines[1].forward[1].cpu_total = Ns{3'000'000};
  const auto more = hover(test::open(profile), {11, 5}, {.markdown = false});
  REQUIRE(more);
  CHECK_THAT(more->contents, Catch::StartsWith("this line — 4.00 ms") && Catch::Contains("norm 2.00 ms · "));
  const auto alone = hover(test::open(opened.profile), {11, 5}, {.markdown = false});
  REQUIRE(alone);
  CHECK_THAT(alone->contents, Catch::StartsWith("norm LayerNorm — 2.10 ms") && !Catch::Contains("norm 2.00 ms"));
}

TEST_CASE("a line of a stage that others enter too shows its own part, and the hover says of how much") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->stage_sites[0].wall = profile->stage_sites[0].cpu = {Ns{2'000'000}, Ns{3'000'000}};
  const FileView view = test::open(profile);
  CHECK(label_at(inlay_hints(view, {}, {}), 15) == "2.00 ms 18%");
  const auto part = hover(view, {15, 20}, {.markdown = false});
  REQUIRE(part);
  CHECK_THAT(part->contents, Catch::Contains("backward     2.00 ms wall   2.00 ms CPU") && Catch::Contains("  of         5.00 ms wall"));
  const auto whole = hover(view, {16, 10}, {.markdown = false});
  REQUIRE(whole);
  CHECK_THAT(whole->contents, !Catch::Contains("  of  "));
}

TEST_CASE("where the lines of a stage are not told apart one has the whole and the others name it, wherever it is now") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->stages[1].stage = profile::Stage::backward;
  profile->stage_sites[1] = {.site = profile->stage_sites[1].site, .stage = profile::Stage::backward, .counted_at = 0};
  const FileView view = test::open(profile);
  CHECK(label_at(inlay_hints(view, {}, {}), 15) == "5.00 ms 45%");
  CHECK(label_at(inlay_hints(view, {}, {}), 16) == "→ line 16");
  const auto other = hover(view, {16, 10}, {.markdown = false});
  REQUIRE(other);
  CHECK_THAT(other->contents, Catch::Contains("counted at line 16"));
  const FileView moved = test::open(profile, "# one more\n" + std::string(test::kModelText));
  CHECK(label_at(inlay_hints(moved, {}, {}), 17) == "→ line 17");
}

TEST_CASE("what was said of an earlier text never differs from what a fresh look says") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->stages[1].stage = profile::Stage::backward;
  profile->stage_sites[1] = {.site = profile->stage_sites[1].site, .stage = profile::Stage::backward, .counted_at = 0};
  const FileView first = test::open(profile);
  const std::string text = test::kModelText;
  const std::vector<std::string> texts{text,
                                       "# above\n" + text,
                                       replaced(text, "nn.LayerNorm(4)", "nn.LayerNorm(8)"),
                                       replaced(text, "    def forward(self, x):", "    def forward(self, x, y):"),
                                       replaced(text, "        return self.norm(x)\n", ""),
                                       replaced(text, "self.norm(x)", "self.norm(x); self.norm(x)"),
                                       replaced(text, "    for x in loader:", "    print()\n    for x in loader:"),
                                       text};
  const auto said = [](const std::vector<Hint>& hints) {
    std::vector<std::string> lines;
    for (const Hint& hint : hints) lines.push_back(std::to_string(hint.at.line) + " " + hint.label + "\n" + hint.tooltip);
    return lines;
  };
  HintMemory memory;
  for (const Options& options : {Options{}, Options{.min_share = 0.3, .markdown = false}}) {
    for (const std::string& now : texts) {
      const FileView view = features::view(first.path, source::Tree::parse(now), first.facts, profile);
      CAPTURE(now);
      CHECK(said(inlay_hints(view, {}, options, memory)) == said(inlay_hints(view, {}, options)));
    }
  }
}

TEST_CASE("a call that is not the only one of its module says how much of the module's time it has") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->lines.clear();
  profile->call_sites[0].modules = {{4}};
  CHECK_THAT(hover(test::open(profile), {11, 20}, {.markdown = false})->contents,
             Catch::Contains("called from 2 places; this is the time of all"));
  profile->call_sites[0].forward = {cpu(400), cpu(400)};
  profile->call_sites[0].backward = {cpu(300), cpu(300)};
  profile->call_sites[1].forward = {cpu(600), cpu(600)};
  profile->call_sites[1].backward = {cpu(700), cpu(700)};
  const FileView view = test::open(profile);
  const auto hints = inlay_hints(view, {}, {});
  CHECK(label_at(hints, 6) == "2.00 ms 18%");
  CHECK_THAT(label_at(hints, 10), Catch::StartsWith("700 µs"));
  CHECK_THAT(label_at(hints, 11), Catch::StartsWith("1.30 ms"));
  CHECK_THAT(hover(view, {11, 20}, {.markdown = false})->contents, Catch::Contains("called from 2 places, 2.00 ms in all"));
}

TEST_CASE("hints are sorted, one per line, short, inside the asked range, at the line's end") {
  const Opened opened;
  const auto view = test::open(opened.profile);
  const auto hints = inlay_hints(view, {6, 12}, {});
  REQUIRE(hints.size() == 3);
  for (std::size_t i = 1; i < hints.size(); ++i) CHECK(hints[i - 1].at.line < hints[i].at.line);
  for (const Hint& hint : hints) {
    CHECK(hint.label.find('\n') == std::string::npos);
    CHECK_FALSE(hint.tooltip.empty());
  }
  CHECK(hints.front().at.column == std::string_view("        self.norm = nn.LayerNorm(4)").size());
  CHECK(inlay_hints(view, {6, 12}, {.tooltips = false}).front().tooltip.empty());
}

TEST_CASE("lines below the threshold stay quiet") {
  const Opened opened;
  const auto hints = inlay_hints(test::open(opened.profile), {}, {.min_share = 0.5});
  CHECK(label_at(hints, 6).empty());
  CHECK_FALSE(label_at(hints, 10).empty());
}

TEST_CASE("hints move with the text and an edited line is marked at once") {
  const Opened opened;
  const auto moved = inlay_hints(test::open(opened.profile, "# one\n# two\n" + std::string(test::kModelText)), {}, {});
  CHECK(label_at(moved, 8) == "2.00 ms 18%");
  const auto edited = inlay_hints(test::open(opened.profile, replaced(test::kModelText, "nn.LayerNorm(4)", "nn.LayerNorm(8)")), {}, {});
  CHECK(label_at(edited, 6) == "≠ 2.00 ms 18%");
}

TEST_CASE("where a constructor ran is a fact of its file alone") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->files.push_back({.path = "/elsewhere.py", .copy = {}, .sha256 = "", .workspace = true});
  const auto constructors = [&](std::uint32_t file) {
    const Collected collected = collect(*profile, profile::FileId{file});
    return std::ranges::count(collected.facts, source::Role::constructor, &source::Fact::role);
  };
  CHECK(constructors(0) == 0);
  profile->modules[4].constructed = test::site(14, 4, 20, "train");
  CHECK(constructors(0) == 1);
  CHECK(constructors(1) == 0);
}

TEST_CASE("a hover names the module, its directions and the number of calls") {
  const Opened opened;
  const auto view = test::open(opened.profile);
  const auto norm = hover(view, {6, 14}, {});
  REQUIRE(norm);
  CHECK_THAT(norm->contents, Catch::Contains("**norm**") && Catch::Contains("LayerNorm") && Catch::Contains("forward") &&
                                 Catch::Contains("1.00 ms") && Catch::Contains("data:image/svg+xml"));
  const auto plain = hover(view, {6, 14}, {.markdown = false});
  REQUIRE(plain);
  CHECK_THAT(plain->contents, !Catch::Contains("**") && !Catch::Contains("data:") && Catch::Contains("█"));
  CHECK(std::ranges::count(plain->contents, '\n') < 10);
  CHECK_FALSE(hover(view, {0, 2}, {}));
}

TEST_CASE("a hover says why a layer takes its time, within ten lines, and nothing stale") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->kernels = {{"aten::native_layer_norm", kernels::operator_name("aten::native_layer_norm")},
                      {"aten::<b>*x*", kernels::operator_name("aten::<b>*x*")}};
  profile::Module& norm = profile->modules[4];
  norm.kernels = {{.kernel = {1}, .calls = 3, .time = Ns{900'000}}, {.kernel = {0}, .calls = 1, .time = Ns{800'000}}};
  norm.memory.activations = Bytes{4'200'000};
  norm.critical[static_cast<std::size_t>(profile::Cause::memory)] = Ns{1'900'000};
  norm.spent = norm.critical;
  const auto plain = hover(test::open(profile), {6, 14}, {.markdown = false});
  REQUIRE(plain);
  CHECK_THAT(plain->contents, Catch::Contains("memory-bound · longest: aten::<b>*x* 900 µs in 3 calls · activations 4.20 MB"));
  CHECK(std::ranges::count(plain->contents, '\n') < 10);
  const auto markdown = hover(test::open(profile), {6, 14}, {});
  CHECK_THAT(markdown->contents, Catch::Contains("memory-bound") && !Catch::Contains("<b>"));
  const auto edited = hover(test::open(profile, replaced(test::kModelText, "nn.LayerNorm(4)", "nn.LayerNorm(8)")), {6, 14}, {});
  REQUIRE(edited);
  CHECK_THAT(edited->contents, !Catch::Contains("memory-bound"));
}

TEST_CASE("a hover keeps to its room: what tells least goes first, the name stays") {
  const Opened opened;
  const FileView view = test::open(opened.profile);
  const auto seen = [&](std::size_t taken) { return hover(view, {6, 14}, {.markdown = true}, taken)->contents; };
  for (std::size_t taken = 0; taken < 10; ++taken) CHECK(lines_seen(seen(taken)) + taken <= 10);
  CHECK_THAT(seen(0), Catch::Contains("measured") && Catch::Contains("forward"));
  CHECK_THAT(seen(5), !Catch::Contains("measured") && Catch::Contains("forward"));
  CHECK_THAT(seen(9), Catch::StartsWith("**norm**") && !Catch::Contains("forward"));
  CHECK(lines_seen("a\n\n```text\nb\n```\nc") == 3);
}

TEST_CASE("the line of the loop names the largest layers and what limits the step") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->stages.push_back(
      {.stage = profile::Stage::data, .wall = {Ns{400'000}, Ns{400'000}}, .cpu = {Ns{}, Ns{}}, .device = {Ns{}, Ns{}}});
  profile->stage_sites.push_back({.site = test::site(14, 13, 19, "train"),
                                  .stage = profile::Stage::data,
                                  .wall = profile->stages.back().wall,
                                  .cpu = {Ns{}, Ns{}},
                                  .device = {Ns{}, Ns{}}});
  profile->verdict = {.kind = "compute",
                      .evidence = {{.what = "products", .time = Ns{6'000'000}, .where = "model.py:6"},
                                   {.what = "host loads data", .time = Ns{400'000}, .where = ""},
                                   {.what = "copies", .time = Ns{300'000}, .where = ""},
                                   {.what = "others", .time = Ns{200'000}, .where = ""}}};
  const auto loop = hover(test::open(profile), {14, 14}, {.markdown = false});
  REQUIRE(loop);
  CHECK_THAT(loop->contents,
             Catch::Contains("largest layers: layers.0 3.00 ms (model.py:6) · layers.1 3.00 ms (model.py:6) · norm 2.00 ms (model.py:7)"));
  CHECK_THAT(loop->contents,
             Catch::Contains("the step is compute-bound: products 6.00 ms (model.py:6) · host loads data 400 µs · copies 300 µs"));
  CHECK_THAT(loop->contents, !Catch::Contains("others"));
  CHECK_THAT(hover(test::open(profile), {16, 10}, {.markdown = false})->contents, !Catch::Contains("largest layers"));
  const auto linked = hover(test::open(profile), {14, 14}, {});
  CHECK_THAT(linked->contents, Catch::Contains("norm 2.00 ms ([model.py:7](file://") && Catch::Contains("/model.py#L7))"));

  // A framework's loop enters every stage: its line leads to the lines of the model, too.
  profile->stage_sites.clear();
  for (const profile::Stage stage : {profile::Stage::forward, profile::Stage::backward, profile::Stage::optimizer}) {
    profile->stage_sites.push_back({.site = test::site(15, 8, 32, "train"),
                                    .stage = stage,
                                    .wall = {Ns{400'000}, Ns{400'000}},
                                    .cpu = {Ns{}, Ns{}},
                                    .device = {Ns{}, Ns{}}});
  }
  CHECK_THAT(hover(test::open(profile), {15, 10}, {.markdown = false})->contents, Catch::Contains("norm 2.00 ms (model.py:7)"));
}

TEST_CASE("a hover says what a layer holds until its backward pass, in a line, and with whom it shares it") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->modules[4].memory.activations = Bytes{4'200'000};
  profile->modules[2].path = "layers.<b>0";
  auto saved = std::make_shared<profile::SavedTensors>();
  saved->savers = {{.node = "NativeLayerNormBackward0", .module = {4}, .place = {}},
                   {.node = "AddmmBackward0", .module = {2}, .place = {}},
                   {.node = "ReluBackward0", .module = {4}, .place = {}}};
  saved->storages = {{.bytes = Bytes{3'000'000}, .by = {{0, "input", 750'000}, {1, "mat1", 750'000}}},
                     {.bytes = Bytes{32'000}, .by = {{2, "result", 8'000}}},
                     {.kind = profile::SavedKind::parameter, .bytes = Bytes{16}, .by = {{0, "weight", 4}}}};
  profile->saved = saved;
  const auto plain = hover(test::open(profile), {6, 14}, {.markdown = false});
  REQUIRE(plain);
  CHECK_THAT(plain->contents, Catch::Contains("\nheld until backward: 3.03 MB, 3.00 MB needed; shared with layers.<b>0"));
  CHECK_THAT(plain->contents, !Catch::Contains("activations"));
  CHECK(std::ranges::count(plain->contents, '\n') < 10);
  const auto markdown = hover(test::open(profile), {6, 14}, {});
  CHECK_THAT(markdown->contents, Catch::Contains("held until backward: 3.03 MB") && !Catch::Contains("<b>"));
  const auto edited = hover(test::open(profile, replaced(test::kModelText, "nn.LayerNorm(4)", "nn.LayerNorm(8)")), {6, 14}, {});
  REQUIRE(edited);
  CHECK_THAT(edited->contents, !Catch::Contains("held until"));
}

TEST_CASE("a hover says what of a compiled layer's time is an estimate") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  CHECK_THAT(hover(test::open(profile), {6, 14}, {.markdown = false})->contents, !Catch::Contains("estimate"));
  for (profile::Times& times : profile->modules[4].forward) times.estimated = Ns{120'000};
  CHECK_THAT(hover(test::open(profile), {6, 14}, {.markdown = false})->contents,
             Catch::Contains("\n120 µs of it is an estimate: compiled kernels that do the work of several layers"));
}

TEST_CASE("a hover says a layer's arithmetic where its shapes are known and ten lines have room for it") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->costs.operators = {{.name = "aten::mm", .each = {kernels::Work::product, 5e8, 1e3, "f32"}, .calls = 1, .time = Ns{500'000}}};
  profile::Module& norm = profile->modules[4];
  norm.forward_costs = {.uses = {{.at = 0, .calls = 1, .time = Ns{500'000}}}, .whole = Ns{550'000}};
  const auto known = hover(test::open(profile), {6, 14}, {.markdown = false});
  CHECK_THAT(known->contents, Catch::Contains("\n500 MFLOP at 1.00 TFLOP/s") && !Catch::Contains("peaks"));
  // Against a device whose products reach so many a second.
  const auto against = [&](double peak) {
    const devices::Row row{
        .name = "x", .kind = "cpu", .torch = {}, .measured = {}, .flops_per_s = {{{"gemm", "f32"}, peak}}, .copy_bytes_per_s = 1e12};
    const auto card = std::make_shared<const report::CostCard>(*report::cost_card(*profile, &row));
    return hover(test::open(profile), {6, 14}, {.markdown = false, .costs = card})->contents;
  };
  CHECK_THAT(against(2e12), Catch::Contains("\n500 MFLOP at 1.00 TFLOP/s; at most 2.0× faster at the device's measured peaks"));
  CHECK_THAT(against(1.01e12), !Catch::Contains("peaks"));
  CHECK(std::ranges::count(known->contents, '\n') < 10);
  const auto edited = hover(test::open(profile, replaced(test::kModelText, "nn.LayerNorm(4)", "nn.LayerNorm(8)")), {6, 14}, {});
  CHECK_THAT(edited->contents, !Catch::Contains("FLOP"));
  norm.forward_costs.whole = Ns{560'000};
  CHECK_THAT(hover(test::open(profile), {6, 14}, {})->contents, !Catch::Contains("FLOP"));
  norm.forward_costs.whole = Ns{500'000};
  norm.critical[static_cast<std::size_t>(profile::Cause::memory)] = Ns{1'900'000};
  norm.spent = norm.critical;
  for (const char* kind : {"x", "y"}) {
    profile->findings.push_back({.kind = kind, .title = kind, .file = profile->files[0].path.string(), .line = 6});
  }
  profile->guessed = true;
  const auto full = hover(test::open(profile), {6, 2}, {.markdown = false});
  CHECK_THAT(full->contents, !Catch::Contains("FLOP"));
  profile->findings.resize(1);
  CHECK_THAT(hover(test::open(profile), {6, 2}, {.markdown = false})->contents, Catch::Contains("FLOP"));
}

TEST_CASE("a stage that merely waits for the device says so") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->stage_sites[1].waiting = {Ns{1'800'000}, Ns{1'800'000}};
  const auto optimizer = hover(test::open(profile), {16, 10}, {.markdown = false});
  REQUIRE(optimizer);
  CHECK_THAT(optimizer->contents, Catch::Contains("waits 1.80 ms for the device"));
}

TEST_CASE("the lens tells the step and offers to profile again, or to cancel while a run goes on") {
  const Opened opened;
  const auto view = test::open(opened.profile);
  const auto lenses = code_lenses(view, {});
  REQUIRE(lenses.size() == 1);
  CHECK(lenses.front().line == 14);
  CHECK_THAT(lenses.front().title, Catch::Contains("Profile again") && Catch::Contains("11.0 ms/step"));
  CHECK(lenses.front().command == kProfileCommand);
  CHECK(code_lenses(view, {.running = true}).front().command == kCancelCommand);
}

TEST_CASE("a lens shows the arguments that are kept for a script, and a click changes them") {
  const FileView script = view("train.py", source::Tree::parse("x = 1\n"), nullptr, nullptr);
  CHECK(code_lenses(script, {}).empty());
  const auto lenses = code_lenses(script, {.arguments = "--data " + std::string(100, 'x') + "\n"});
  REQUIRE(lenses.size() == 2);
  CHECK(lenses.front().command == kProfileCommand);
  CHECK((lenses.back().title.starts_with("Arguments: --data x") && lenses.back().title.ends_with("x…")));
  CHECK(lenses.back().command == kArgumentsCommand);
  CHECK(code_lenses(script, {.arguments = ""}).back().title == "Without arguments");
  CHECK(code_lenses(script, {.running = true, .arguments = "--x"}).size() == 1);
  CHECK(code_lenses(script, {.trusted = false, .arguments = "--x"}).empty());
  const auto several = code_lenses(script, {.arguments = "", .configuration = "two\nworkers"});
  REQUIRE(several.size() == 3);
  CHECK(several[1].title == "Run configuration: two?workers");  // one line
  CHECK(several[1].command == "hotlens.server.chooseRun");
  CHECK(code_lenses(script, {.configuration = ""}).back().title == "Choose run configuration…");
  CHECK(code_lenses(script, {.running = true, .configuration = ""}).size() == 1);
}

TEST_CASE("the lens stands where the script trains: before the first profile, after it, and after edits elsewhere") {
  const Opened opened;
  const FileView before = view("train.py", source::Tree::parse(test::kModelText), nullptr, nullptr);
  CHECK(code_lenses(before, {}).front().line == 14);
  CHECK(code_lenses(test::open(opened.profile), {}).front().line == 14);
  CHECK(code_lenses(test::open(opened.profile, "# new\n" + std::string(test::kModelText) + "x = 1\n"), {}).front().line == 15);
}

TEST_CASE(
    "in a file that trains nothing the lens stands above the model's class, else above the loop, not above what the loop calls first") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  std::string text = test::kModelText;  // the same but for the calls that tell a training script
  text.replace(text.find("backward()"), 10, "backw_rd()");
  text.replace(text.find(".step()"), 7, ".st_p()");
  CHECK(code_lenses(test::open(profile, text), {}).front().line == 2);
  profile->modules[0].class_site.reset();
  const auto lenses = code_lenses(test::open(profile, text), {});
  CHECK(lenses.front().line == 15);
  profile->stage_sites[1].stage = profile::Stage::data;
  CHECK(code_lenses(test::open(profile, text), {}).front().line == 16);
}

TEST_CASE("a line with a block of the timeline leads there by an action, too") {
  const Opened opened;
  const auto titles = [&](std::uint32_t line, bool timeline) {
    std::vector<std::string> all;
    for (const Action& each : code_actions(test::open(opened.profile), {line, line + 1}, {.timeline = timeline})) all.push_back(each.title);
    return all;
  };
  CHECK_THAT(titles(6, true), Catch::VectorContains(std::string("Show in timeline")));
  CHECK_THAT(titles(6, false), !Catch::VectorContains(std::string("Show in timeline")));
  CHECK_THAT(titles(3, true), !Catch::VectorContains(std::string("Show in timeline")));
}

TEST_CASE("the lens gives both lengths of the step where the profiler, or a busy machine, made a difference") {
  const Opened opened;
  for (const std::int64_t plain_ms : {8, 30}) {
    auto profile = std::make_shared<profile::Profile>(*opened.profile);
    profile->plain_step = Ns{plain_ms * 1'000'000};
    CHECK_THAT(code_lenses(test::open(profile), {}).front().title, Catch::Contains("ms/step (11.0 ms profiled)"));
  }
  auto close = std::make_shared<profile::Profile>(*opened.profile);
  close->plain_step = Ns{10'500'000};
  CHECK_THAT(code_lenses(test::open(close), {}).front().title, Catch::Contains("10.5 ms/step") && !Catch::Contains("profiled)"));
}

TEST_CASE("what is said beside the step's time comes after every lens that can be clicked") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->samples_per_step = 32;
  const auto lenses = code_lenses(test::open(profile), {.timeline = true});
  REQUIRE(lenses.size() == 3);
  CHECK(lenses.front().title.find("samples/s") == std::string::npos);
  CHECK(lenses[1].title == "Show in timeline");
  CHECK_THAT(lenses.back().title, Catch::EndsWith(" samples/s"));
  CHECK(lenses.back().command.empty());
}

TEST_CASE("profiling is offered as an action, disabled with the reason where it may not run") {
  const Opened opened;
  const auto view = test::open(opened.profile);
  CHECK_FALSE(code_actions(view, {}, {}).front().disabled);
  CHECK(code_actions(view, {}, {.trusted = false}).front().disabled);
  CHECK(code_actions(view, {}, {.running = true}).size() == 2);
}

TEST_CASE("a module inside another on the same line is not counted twice") {
  const Opened opened;
  const auto outer = outermost(*opened.profile, {{0}, {2}, {4}, {2}});
  REQUIRE(outer.size() == 1);
  CHECK(outer.front().index == 0);
}

TEST_CASE("a comprehension's own row is part of its line, not added to it") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->lines.push_back(profile->lines.front());
  profile->lines.back().function = "Net.forward.<locals>.<genexpr>";
  profile->lines.back().calls = 16;
  CHECK(label_at(inlay_hints(test::open(profile), {}, {}), 10) == "6.20 ms 56% ×2");
}

TEST_CASE("without the executed text nothing is claimed about a file") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->files.front().copy.clear();
  CHECK(features::bind(profile, profile->files.front().path) == nullptr);
}

TEST_CASE("a class that went to another file of the project has its hints there") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  const std::filesystem::path ran = profile->files.front().path, other = opened.folder.path() / "parts.py";
  profile->files.front().copy = opened.folder.path() / "copy.py";
  const std::string text = test::kModelText;
  std::ofstream(profile->files.front().copy) << text;
  const std::size_t begin = text.find("class Net"), end = text.find("def train");
  const std::string moved = text.substr(begin, end - begin), rest = text.substr(0, begin) + text.substr(end);
  const source::Tree parts = source::Tree::parse("from torch import nn\n\n\ndef helper():\n    return 1\n\n\n" + moved);

  CHECK(features::bind(profile, other, &parts) == nullptr);  // it is where it was: this is a copy

  std::ofstream(ran) << rest;
  const auto facts = features::bind(profile, other, &parts);
  REQUIRE(facts != nullptr);
  const FileView view = features::view(other, parts, facts, profile);
  const auto hints = inlay_hints(view, {}, {});
  CHECK(label_at(hints, 16) == label_at(inlay_hints(test::open(profile), {}, {}), 11));
  for (const auto& placed : view.placements) CHECK(placed.state == source::State::moved);
  CHECK(features::line_now(view, 11) == 16);
  CHECK(features::line_now(view, 5) == 10);
  CHECK(features::line_now(view, 3) == 3);  // nothing was measured there
  const FileView emptied = features::view(other, source::Tree::parse("x = 1\n"), facts, profile);
  CHECK(features::line_now(emptied, 11) == std::nullopt);
  for (const auto& fact : facts->anchors.facts()) CHECK(fact.range.begin.line <= 11);  // nothing of train()

  std::filesystem::remove(ran);
  CHECK(features::bind(profile, other, &parts) != nullptr);
  const source::Tree namesake =
      source::Tree::parse("class Net:\n    def __init__(self):\n        self.lines = []\n        self.open = False\n");
  CHECK(features::bind(profile, other, &namesake) == nullptr);
}

TEST_CASE("a profile of an untrusted workspace has no file read that is not in it") {
  const Opened opened;
  const test::TemporaryFolder elsewhere;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  const std::string text = test::kModelText;
  const std::filesystem::path other = opened.folder.path() / "parts.py";
  profile->files.front().copy = opened.folder.path() / "copy.py";
  std::ofstream(profile->files.front().copy) << text;
  profile->files.front().path = elsewhere.path() / "model.py";
  std::ofstream(profile->files.front().path) << "x = 1\n";
  const std::size_t begin = text.find("class Net"), end = text.find("def train");
  const source::Tree parts = source::Tree::parse(text.substr(begin, end - begin));
  CHECK(features::bind(profile, other, &parts) != nullptr);
  CHECK(features::bind(profile, other, &parts, std::vector{elsewhere.path()}) != nullptr);
  CHECK(features::bind(profile, other, &parts, std::vector{opened.folder.path()}) == nullptr);
  profile->files.front().path = "/dev/zero";
  CHECK(features::bind(profile, other, &parts) == nullptr);  // nor is anything that is no file
}

TEST_CASE("an executed text that is no file of its bundle is not there") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->folder = opened.folder.path() / "bundle";
  std::filesystem::create_directory(profile->folder);
  const std::filesystem::path model = profile->files.front().path;
  for (const std::filesystem::path& copy : {model, profile->folder, profile->folder / "none.py", std::filesystem::path("/dev/zero")}) {
    CAPTURE(copy);
    profile->files.front().copy = copy;
    CHECK(features::bind(profile, model) == nullptr);
  }
  profile->files.front().copy = profile->folder / "copy.py";
  std::ofstream(profile->files.front().copy) << test::kModelText;
  CHECK(features::bind(profile, model) != nullptr);
}

TEST_CASE("an untrusted workspace is offered nothing that runs its code") {
  const Opened opened;
  const auto view = test::open(opened.profile);
  const auto lenses = code_lenses(view, {.trusted = false});
  REQUIRE(lenses.size() == 1);
  CHECK(lenses.front().command.empty());
  CHECK_THAT(lenses.front().title, !Catch::Contains("Profile"));
  CHECK(code_lenses(view, {.trusted = false, .running = true}).front().command == kCancelCommand);
  const FileView script = features::view("train.py", source::Tree::parse(test::kModelText), nullptr, nullptr);
  REQUIRE(code_lenses(script, {}).size() == 1);
  CHECK(code_lenses(script, {.trusted = false}).empty());
}

TEST_CASE("a file the profile does not know shows nothing") {
  const Opened opened;
  CHECK(features::bind(opened.profile, opened.folder.path() / "other.py") == nullptr);
  const FileView view = features::view("other.py", source::Tree::parse("x = 1\n"), nullptr, opened.profile);
  CHECK(inlay_hints(view, {}, {}).empty());
  CHECK_FALSE(hover(view, {0, 0}, {}));
}

TEST_CASE("the line of an update in which the step holds most says that checkpointing would not lower the peak") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  const auto said = [&](std::uint32_t line, const std::string& words) {
    const auto found = hover(test::open(profile), {line, 10}, {.markdown = false});
    return found && found->contents.contains(words);
  };
  const std::string peak = "memory peak 84.0 MB here: checkpointing layers would not lower it";
  profile->at_peak.total = Bytes{84'000'000};
  profile->at_peak.moment = profile::MemoryAtPeak::Moment{.stage = profile::Stage::backward, .module = {}};
  CHECK_FALSE(said(16, "memory peak"));
  profile->at_peak.moment->stage = profile::Stage::optimizer;
  CHECK(said(16, peak));
  CHECK_FALSE(said(15, "memory peak"));
  auto& held = profile->at_peak.stages[static_cast<std::size_t>(profile::Stage::optimizer)];
  held[static_cast<std::size_t>(profile::Holding::workspace)] = Bytes{12'000'000};
  CHECK_FALSE(said(16, "fused"));
  profile->findings = {{.kind = "fused_optimizer", .title = "Optimizer with fused=True", .least_ratio = 0.9}};
  CHECK(said(16, peak + ", fused=True would by up to 12.0 MB"));
}

TEST_CASE("what only runs tell is said without a number") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->findings = {{.kind = "cudnn_benchmark",
                        .title = "cudnn.benchmark",
                        .assumes = {"shapes stay"},
                        .file = opened.profile->files.front().path.string(),
                        .line = 11,
                        .only_measured = true}};
  const auto found = hover(test::open(profile), {11, 5}, {.markdown = false});
  REQUIRE(found);
  CHECK(found->contents.contains("Could help, only runs tell how much: cudnn.benchmark (shapes stay)."));
}

TEST_CASE("a hover says what could help at its line, wherever it is now, and nothing once the line was edited") {
  const Opened opened;
  auto profile = std::make_shared<profile::Profile>(*opened.profile);
  profile->findings = {{.kind = "gelu_tanh",
                        .title = "GELU as one operator",
                        .assumes = {"F.gelu in its place"},
                        .file = opened.profile->files.front().path.string(),
                        .line = 11,
                        .least_ratio = 0.83}};
  const auto said = [&](const FileView& view, std::uint32_t line) {
    const auto found = hover(view, {line, 5}, {.markdown = false});
    return found && found->contents.contains("Could help, at most −17 %: GELU as one operator (F.gelu in its place).");
  };
  CHECK(said(test::open(profile), 11));
  CHECK_FALSE(said(test::open(profile), 10));
  CHECK(said(test::open(profile, "# one\n" + std::string(test::kModelText)), 12));
  CHECK_FALSE(said(test::open(profile, replaced(test::kModelText, "self.norm(x)", "self.norm(x * 2)")), 11));
  profile->findings.front().file = "/elsewhere/model.py";
  CHECK_FALSE(said(test::open(profile), 11));
}
