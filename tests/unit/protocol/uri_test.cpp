#include "protocol/uri.h"

#include "tests/unit/catch.h"

using namespace hotlens::protocol;

TEST_CASE("file URIs in the spellings that editors use") {
  CHECK(path_of_uri("file:///a/b.py") == "/a/b.py");
  CHECK(path_of_uri("FILE:///a/b.py") == "/a/b.py");
  CHECK(path_of_uri("file:/a/b.py") == "/a/b.py");
  CHECK(path_of_uri("file://localhost/a/b.py") == "/a/b.py");
  CHECK(path_of_uri("file:///a%20b/%C3%A9%2B+.py") == "/a b/é++.py");
  CHECK(path_of_uri("file:///c%3A/x") == "/c:/x");
  CHECK(path_of_uri("file:///a/../b/./c.py") == "/b/c.py");
}

TEST_CASE("URIs that name no file of ours") {
  for (const std::string uri : {"", "file:", "file://", "untitled:Untitled-1", "git:/a.py", "vscode-notebook-cell:/a.ipynb#W0",
                                "file://server/share/x", "file:///a%2", "file:///a%zz", "file:///a%00b", "filesystem:///x"}) {
    CAPTURE(uri);
    CHECK_FALSE(path_of_uri(uri));
  }
}

TEST_CASE("a path survives the way through a URI") {
  for (const std::string path : {"/a/b.py", "/a b/é漢😀/#?%.py", "/x:y@z&=+,;"}) CHECK(path_of_uri(uri_of_path(path)) == path);
}
