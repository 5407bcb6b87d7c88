#include "server/session/profiles/homes.h"

#include "tests/unit/catch.h"

using hotlens::session::home_of;
namespace fs = std::filesystem;

TEST_CASE("a file belongs to the innermost folder around it, else to the first") {
  const std::vector<fs::path> folders{"/work/vision", "/work/text", "/work/text/tools"};
  CHECK(home_of(folders, "/work/text/model.py") == "/work/text");
  CHECK(home_of(folders, "/work/text/tools/a/b.py") == "/work/text/tools");
  CHECK(home_of(folders, "/work/text2/model.py") == "/work/vision");
  CHECK(home_of(folders, "") == "/work/vision");
  CHECK(home_of({}, "/work/text/model.py").empty());
}

TEST_CASE("a file follows the folder whose bundle it shows") {
  const std::vector<fs::path> folders{"/work/vision", "/work/text"};
  CHECK(home_of(folders, "/work/vision/layers.py", "/work/text/.hotlens/profiles/1") == "/work/text");
  CHECK(home_of(folders, "/work/text/layers.py", "/work/.hotlens/profiles/1") == "/work/text");
  CHECK(home_of(folders, "/work/text/layers.py", "") == "/work/text");
}
