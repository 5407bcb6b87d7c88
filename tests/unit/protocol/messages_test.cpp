#include "protocol/messages.h"

#include <fstream>
#include <set>
#include <sstream>

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

namespace {

std::set<std::string> documented_rows(std::string_view starts_with, const char* name = "MESSAGES.md") {
  std::ifstream file(std::string(HOTLENS_SOURCE_DIR) + "/protocol/" + name);
  REQUIRE(file);
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(starts_with)) rows.insert(line);
  }
  return rows;
}

template <class Specs>
std::set<std::string> rows_of(const Specs& specs) {
  std::set<std::string> rows;
  for (const auto& spec : specs) rows.insert(table_row(spec));
  return rows;
}

}  // namespace

TEST_CASE("MESSAGES.md lists exactly the messages of messages.h") {
  CHECK(documented_rows("| `hotlens/") == rows_of(kMessages));
}

TEST_CASE("MESSAGES.md lists exactly the commands of messages.h") {
  CHECK(documented_rows("| `hotlens.server.") == rows_of(kCommands));
}

TEST_CASE("TIMELINE.md lists exactly the timeline's messages of messages.h") {
  CHECK(documented_rows("| `hotlens/timeline/", "TIMELINE.md") == rows_of(kTimelineMessages));
}
