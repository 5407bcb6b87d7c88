#include "annotator/source/notebook/notebook.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/catch.h"

namespace hotlens::source {
namespace {

using Starts = std::vector<std::uint32_t>;

TEST_CASE("a cell reads as the recorder runs it") {
  std::ifstream file(HOTLENS_SOURCE_ROOT "/tests/notebook_cells.json");
  const auto cases = nlohmann::json::parse(file);
  CHECK(cases.size() > 15);
  for (const auto& one : cases) {
    CAPTURE(one["what"].get<std::string>());
    CHECK(without_magics(one["cell"].get<std::string>()).text == one["script"].get<std::string>());
  }
}

TEST_CASE("a script knows where its cells begin") {
  const std::vector<CellScript> cells{without_magics("a = 1\r\nb = 2"), without_magics(""), without_magics("c\rd\n\n"),
                                      without_magics("e")};
  const Script script = script_of(cells);
  CHECK(script.text == "# coding: utf-8\na = 1\r\nb = 2\nc\rd\n\ne\n");
  CHECK(script.starts == Starts{1, 3, 3, 6});
}

TEST_CASE("imports from the future come first, each once") {
  const std::vector<CellScript> cells{without_magics("%a\nfrom __future__ import annotations"),
                                      without_magics("from __future__ import annotations, division  # so")};
  CHECK(script_of(cells).text.starts_with("from __future__ import annotations, division\npass  # %a\npass  # from"));
  CHECK(without_magics("from __future__ import (a,\n b)").futures.empty());
  CHECK(without_magics("from __future__import a").futures.empty());
}

TEST_CASE("forms of the file") {
  const auto text = [](std::string_view json) {
    const auto script = script_of_notebook(json, "a.ipynb");
    return script ? script->text : script.error().message;
  };
  CHECK(text(R"({"cells":[{"cell_type":"markdown","source":"x"},{"cell_type":"code","source":["a\n","b"]},{"cell_type":"code"}]})") ==
        "# coding: utf-8\na\nb\n");
  CHECK(text("\xEF\xBB\xBF{\"worksheets\":[{\"cells\":[{\"cell_type\":\"code\",\"input\":\"a\"}]}, 3]}") == "# coding: utf-8\na\n");
  CHECK(text(R"({"cells":[3, null, {"cell_type":"code","source":[1, "a"]}], "metadata": 3})") == "# coding: utf-8\na\n");
  CHECK(text("").empty());
  CHECK(text("{").starts_with("a.ipynb is no notebook: it is not JSON."));
  CHECK(text(std::string(100'000, '[')).starts_with("a.ipynb is no notebook: it is not JSON."));
  CHECK(text("3").starts_with("a.ipynb is no notebook: it has no list of cells."));
  CHECK(text(R"({"cells":[],"metadata":{"kernelspec":{"language":"R"}}})") ==
        "a.ipynb is a notebook for R. Hotlens runs Python notebooks only.");
  CHECK(text(R"({"cells":[],"metadata":{"language_info":{"name":"Python"}}})") == "# coding: utf-8\n");
}

}  // namespace
}  // namespace hotlens::source
