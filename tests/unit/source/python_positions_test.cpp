// The outline and the binding against what Python says about real files: its syntax tree and its compiled code.
//
// HOTLENS_TEST_SOURCES may name a file that lists more files to check, one a line.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "annotator/source/anchors.h"
#include "annotator/source/outline/tree_data.h"
#include "tests/unit/catch.h"

namespace {

using namespace hotlens::source;
using nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Output {
  std::vector<json> files;
  int status = 0;
};

Output run_python(const std::string& arguments) {
  std::string command = std::string(HOTLENS_TEST_PYTHON) + " " + HOTLENS_TEST_FOLDER + "/dump_positions.py " + arguments;
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string all;
  std::array<char, 65536> part;
  while (std::size_t size = fread(part.data(), 1, part.size(), pipe)) all.append(part.data(), size);
  output.status = pclose(pipe);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) output.files.push_back(json::parse(line));
  return output;
}

// The project's own Python files, the library's, and those of the list.
const Output& described_files() {
  static const Output output = [] {
    std::string arguments =
        "--library $(find " HOTLENS_SOURCE_ROOT "/examples " HOTLENS_SOURCE_ROOT "/annotator/recorder -name '*.py' 2>/dev/null)";
    if (const char* list = std::getenv("HOTLENS_TEST_SOURCES")) arguments += " $(cat " + std::string(list) + ")";
    return run_python(arguments);
  }();
  return output;
}

bool python_is_too_old() {
  if (described_files().status == 0) return false;
  WARN("needs Python 3.11 or later as the test's interpreter (" HOTLENS_TEST_PYTHON "); skipped");
  return true;
}

Fact fact_from(const json& at, Role role) {
  return {.role = role, .range = {{at[0], at[1]}, {at[2], at[3]}}, .has_columns = true, .function = at[4]};
}

std::vector<Fact> facts_from(const json& list, Role role) {
  std::vector<Fact> facts;
  for (const json& at : list) facts.push_back(fact_from(at, role));
  return facts;
}

std::string place_name(const json& file, const Fact& fact) {
  std::ostringstream name;
  name << file["path"].get<std::string>() << ":" << fact.range.begin.line + 1 << ":" << fact.range.begin.column << " in " << fact.function;
  return name.str();
}

// Facts whose confirmation is not `expected`, or that are not at their own range.
std::vector<std::string> wrong(const json& file, const Tree& tree, const std::vector<Fact>& facts, bool expected) {
  std::vector<std::string> found;
  const Anchors anchors = Anchors::bind(tree, facts);
  const auto placements = anchors.place(tree);
  const std::vector<bool> confirmed = anchors.confirm(placements);
  for (const auto& placed : placements) {
    const Fact& fact = facts[placed.fact];
    bool right = confirmed[placed.fact] == expected && (!expected || (placed.state == State::fresh && placed.range == fact.range));
    if (!right) found.push_back(place_name(file, fact));
  }
  return found;
}

}  // namespace

TEST_CASE("Every call, store and loop that Python executes is confirmed at its range and in its function") {
  if (python_is_too_old()) return;
  REQUIRE(described_files().files.size() >= 8);
  std::size_t checked = 0;
  for (const json& file : described_files().files) {
    Tree tree = Tree::parse(read_file(file["path"]));
    CAPTURE(file["path"].get<std::string>());
    auto calls = facts_from(file["calls"], Role::call), stores = facts_from(file["stores"], Role::definition);
    CHECK(wrong(file, tree, calls, true) == std::vector<std::string>());
    CHECK(wrong(file, tree, facts_from(file["calls"], Role::constructor), true) == std::vector<std::string>());
    CHECK(wrong(file, tree, stores, true) == std::vector<std::string>());
    CHECK(wrong(file, tree, facts_from(file["loops"], Role::stage), true) == std::vector<std::string>());
    CHECK(wrong(file, tree, facts_from(file["other_calls"], Role::call), false) == std::vector<std::string>());
    checked += calls.size() + stores.size();
  }
  WARN(checked << " positions in " << described_files().files.size() << " files");
}

TEST_CASE("A fact in another function than its syntax is not confirmed") {
  if (python_is_too_old()) return;
  for (const json& file : described_files().files) {
    Tree tree = Tree::parse(read_file(file["path"]));
    auto facts = facts_from(file["calls"], Role::call);
    for (Fact& fact : facts) fact.function = fact.function == "<module>" ? "main" : fact.function + "_";
    CHECK(wrong(file, tree, facts, false) == std::vector<std::string>());
  }
}

TEST_CASE("The outline's statements are those of Python's syntax tree") {
  if (python_is_too_old()) return;
  for (const json& file : described_files().files) {
    std::string text = read_file(file["path"]);
    Tree tree = Tree::parse(text);
    const Outline& outline = tree.data().outline;
    std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    std::set<std::array<std::uint32_t, 4>> simple, simple_found;
    std::set<std::array<std::uint32_t, 2>> compound, compound_found;
    for (const json& at : file["statements"]) {
      std::uint32_t shift = at[0] == 0 ? static_cast<std::uint32_t>(mark) : 0,
                    end_shift = at[2] == 0 ? static_cast<std::uint32_t>(mark) : 0;
      std::uint32_t column = at[1].get<std::uint32_t>() + shift, end_column = at[3].get<std::uint32_t>() + end_shift;
      if (at[4]) {
        compound.insert({at[0], column});
      } else {
        simple.insert({at[0], column, at[2], end_column});
      }
    }
    for (const Statement& statement : outline.statements) {
      Range range = range_of(outline, statement);
      std::string_view head = std::string_view(text).substr(statement.head, 7);
      bool unnamed = head.starts_with("else") || head.starts_with("finally") ||
                     (head.starts_with("case") && statement.kind == StatementKind::compound);
      if (statement.kind == StatementKind::simple) {
        simple_found.insert({range.begin.line, range.begin.column, range.end.line, range.end.column});
      } else if (!unnamed) {
        compound_found.insert({range.begin.line, range.begin.column});
      }
    }
    CAPTURE(file["path"].get<std::string>());
    CHECK(simple_found == simple);
    CHECK(compound_found == compound);
  }
}
