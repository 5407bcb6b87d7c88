#include "annotator/profile/place_name.h"

#include "tests/unit/catch.h"

namespace hotlens::profile {
namespace {

TEST_CASE("a line of a script by its number, one of a notebook by cell and line") {
  const SourceFile script{.path = "/w/train.py"}, notebook{.path = "/w/train.ipynb", .cells = {1, 4, 4, 9}};
  CHECK(place_name("train.py", script, 11) == "train.py:12");
  CHECK(place_name("train.ipynb", notebook, 1) == "train.ipynb cell 1, line 1");
  CHECK(place_name("train.ipynb", notebook, 3) == "train.ipynb cell 1, line 3");
  CHECK(place_name("train.ipynb", notebook, 4) == "train.ipynb cell 3, line 1");  // the second one is empty
  CHECK(place_name("train.ipynb", notebook, 20) == "train.ipynb cell 4, line 12");
  CHECK(place_name("train.ipynb", notebook, 0) == "train.ipynb line 1");
}

}  // namespace
}  // namespace hotlens::profile
