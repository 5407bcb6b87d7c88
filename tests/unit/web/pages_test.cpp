#include "server/web/pages.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "tests/unit/catch.h"

using namespace hotlens::web;
namespace fs = std::filesystem;

namespace {

// A folder of pages with something beside it that must stay there.
struct Folder {
  fs::path around = fs::temp_directory_path() / ("hotlens-pages-" + std::to_string(::getpid()));
  fs::path pages = around / "pages";

  Folder() {
    fs::create_directories(pages / "sub");
    write(around / "secret.js", "secret");
    write(pages / "index.html", "page");
    write(pages / "timeline.js", "script");
    write(pages / "sub" / "style.css", "style");
    write(pages / "notes.txt", "no type of ours");
    write(pages / ".hidden.js", "hidden");
    fs::create_symlink(around / "secret.js", pages / "link.js");
  }
  ~Folder() { fs::remove_all(around); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  static void write(const fs::path& file, const char* text) { std::ofstream(file) << text; }
};

}  // namespace

TEST_CASE("first answers travel as text that cannot leave their element") {
  const std::string page = R"(<body><script type="application/json" id="first"></script></body>)";
  CHECK(with_first_answers(page, R"({"a":"</script><!--<script>"})") ==
        R"(<body><script type="application/json" id="first">{"a":"\u003c/script>\u003c!--\u003cscript>"}</script></body>)");
  CHECK(with_first_answers(page, "") == page);
  CHECK(with_first_answers("<p>no such element</p>", "{}") == "<p>no such element</p>");
}

TEST_CASE("only files of the page are read, each with its type") {
  const Folder folder;
  const auto script = read_page(folder.pages, "/timeline.js");
  REQUIRE(script.has_value());
  CHECK(script->body == "script");
  CHECK(script->type == "text/javascript; charset=utf-8");
  CHECK(read_page(folder.pages, "/").value().body == "page");
  CHECK(read_page(folder.pages, "/sub/style.css").value().body == "style");
  for (const char* path : {"/../secret.js", "/sub/../../secret.js", "/%2e%2e/secret.js", "/link.js", "/.hidden.js", "/sub", "/sub/",
                           "/notes.txt", "/nobody.js", "//timeline.js", "timeline.js", "", "/timeline.js\n", "/sub\\style.css"}) {
    CAPTURE(path);
    CHECK_FALSE(read_page(folder.pages, path).has_value());
  }
  CHECK_FALSE(read_page(folder.around / "nowhere", "/").has_value());
}
