#include "server/session/documents/cell_places.h"

#include "tests/unit/catch.h"

namespace hotlens::session {
namespace {

using protocol::Answer;
using protocol::Json;
using protocol::Outcome;

constexpr const char* kBook = "file:///w/a.ipynb";

// Two code cells of two and three lines, a markdown cell between them.
Notebooks two_cells() {
  Notebooks notebooks;
  notebooks.open(kBook, "/w/a.ipynb", {{true, "cell:a"}, {false, "cell:words"}, {true, "cell:b"}});
  notebooks.open_text("cell:a", 7, "a = 1\nb = 2");
  notebooks.open_text("cell:words", 1, "# words");
  notebooks.open_text("cell:b", 9, "c = 3\nd = 4\ne = 5\n");
  CHECK(notebooks.script(kBook) == "# coding: utf-8\na = 1\nb = 2\nc = 3\nd = 4\ne = 5\n");
  return notebooks;
}

Json at(std::uint32_t line) {
  return {{"line", line}, {"character", 2}};
}
Json range(std::uint32_t line) {
  return {{"start", at(line)}, {"end", at(line)}};
}

Json answered(const Notebooks& notebooks, const std::string& method, Json params, const Json& answer) {
  const ForCell back = ask_script(notebooks, method, params);
  REQUIRE(back);
  return *std::get<Answer>(back(Outcome(Answer(answer))));
}

TEST_CASE("a question about a cell is put to the script") {
  const Notebooks notebooks = two_cells();
  Json params{{"textDocument", {{"uri", "cell:b"}}}, {"position", at(1)}, {"range", range(2)}};
  CHECK(ask_script(notebooks, "textDocument/hover", params));
  CHECK(params == Json{{"textDocument", {{"uri", kBook}}}, {"position", at(4)}, {"range", range(5)}});
  Json command{{"command", "x"}, {"arguments", {{{"uri", "cell:a"}, {"position", at(1)}}}}};
  CHECK(ask_script(notebooks, "workspace/executeCommand", command));
  CHECK(command["arguments"][0] == Json{{"uri", kBook}, {"position", at(2)}});
}

TEST_CASE("what is about no cell stays as it is") {
  const Notebooks notebooks = two_cells();
  for (const char* uri : {"file:///w/b.py", kBook, "cell:words", "cell:gone"}) {
    Json params{{"textDocument", {{"uri", uri}}}, {"position", at(1)}};
    const Json before = params;
    CHECK_FALSE(ask_script(notebooks, "textDocument/hover", params));
    CHECK(params == before);
  }
  Json odd = Json::parse(R"([{"textDocument": 3}, 3])");
  for (Json& params : odd) CHECK_FALSE(ask_script(notebooks, "workspace/executeCommand", params));
  Json sync{{"textDocument", {{"uri", "cell:a"}}}};
  CHECK_FALSE(ask_script(notebooks, "textDocument/didChange", sync));
}

TEST_CASE("the answer has what lies in the cell, in its lines") {
  const Notebooks notebooks = two_cells();
  const Json asked{{"textDocument", {{"uri", "cell:b"}}}};
  const Json hints = {{{"position", at(1)}, {"label", "a"}}, {{"position", at(3)}, {"label", "c"}}, {{"position", at(5)}, {"label", "e"}}};
  CHECK(answered(notebooks, "textDocument/inlayHint", asked, hints) ==
        Json{{{"position", at(0)}, {"label", "c"}}, {{"position", at(2)}, {"label", "e"}}});
  CHECK(answered(notebooks, "textDocument/hover", asked, {{"range", range(4)}})["range"] == range(1));
  const Json marks = answered(notebooks, "hotlens/heat", asked, {{"version", 1}, {"marks", {{{"line", 2}}, {{"line", 4}}}}});
  CHECK(marks == Json{{"version", 9}, {"marks", {{{"line", 1}}}}});
}

TEST_CASE("what stands before the first cell is its first line's") {
  const Notebooks notebooks = two_cells();
  const Json lenses = {{{"range", range(0)}}};
  CHECK(answered(notebooks, "textDocument/codeLens", {{"textDocument", {{"uri", "cell:a"}}}}, lenses) == lenses);
  CHECK(answered(notebooks, "textDocument/codeLens", {{"textDocument", {{"uri", "cell:b"}}}}, lenses).empty());
}

TEST_CASE("places in a script are told in its cells") {
  const Notebooks notebooks = two_cells();
  CHECK(in_cells(notebooks, {{"uri", kBook}, {"selection", range(2)}}) == Json{{"uri", "cell:a"}, {"selection", range(1)}});
  CHECK(in_cells(notebooks, {{"lines", {{{"uri", kBook}, {"line", 3}, {"endLine", 4}}}}}) ==
        Json{{"lines", {{{"uri", "cell:b"}, {"line", 0}, {"endLine", 1}}}}});
  const Json other{{"uri", "file:///w/b.py"}, {"position", at(3)}};
  CHECK(in_cells(notebooks, other) == other);
}

TEST_CASE("edits and diagnostics go to the cells of their lines") {
  const Notebooks notebooks = two_cells();
  const Json edits = {{{"range", range(2)}, {"newText", "x"}}, {{"range", range(5)}, {"newText", "y"}}};
  const Json changed = in_cells(notebooks, {{"documentChanges", {{{"textDocument", {{"uri", kBook}, {"version", 1}}}, {"edits", edits}}}}});
  const Json& changes = changed["documentChanges"];
  REQUIRE(changes.size() == 2);
  CHECK(changes[0]["textDocument"] == Json{{"uri", "cell:a"}, {"version", 7}});
  CHECK(changes[1]["textDocument"] == Json{{"uri", "cell:b"}, {"version", 9}});
  CHECK(changes[1]["edits"] == Json{{{"range", range(2)}, {"newText", "y"}}});
  CHECK(in_cells(notebooks, {{"changes", {{kBook, edits}}}})["changes"]["cell:a"][0]["range"] == range(1));
  CHECK(by_cell(notebooks, kBook, edits).size() == 2);
  CHECK(by_cell(notebooks, "file:///w/b.py", edits) == ByCell{{"file:///w/b.py", edits}});
}

TEST_CASE("cells that come and go change where the others begin") {
  Notebooks notebooks = two_cells();
  CHECK(notebooks.line_of("/w/a.ipynb", 2, 1) == 4);
  CHECK(notebooks.replace(kBook, 0, 1, {}));
  CHECK(notebooks.script(kBook) == "# coding: utf-8\nc = 3\nd = 4\ne = 5\n");
  CHECK(notebooks.line_of("/w/a.ipynb", 1, 1) == 2);
  CHECK_FALSE(notebooks.line_of("/w/a.ipynb", 2, 0));
  CHECK_FALSE(notebooks.replace(kBook, 3, 0, {}));
  CHECK_FALSE(notebooks.replace(kBook, 1, 2, {}));
  CHECK(notebooks.apply("cell:b", 10, {{protocol::Range{{0, 0}, {0, 1}}, "z"}}, protocol::Encoding::utf16));
  CHECK_FALSE(notebooks.apply("cell:b", 11, {{protocol::Range{{9, 0}, {2, 0}}, "z"}}, protocol::Encoding::utf16));
  CHECK(notebooks.script(kBook) == "# coding: utf-8\n");
  CHECK(notebooks.apply("cell:b", 12, {{std::nullopt, "f = 6"}}, protocol::Encoding::utf16));
  CHECK(notebooks.script(kBook) == "# coding: utf-8\nf = 6\n");
}

}  // namespace
}  // namespace hotlens::session
