#include "annotator/advice/silenced.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;
namespace fs = std::filesystem;

namespace {

struct Workspace {
  fs::path root = fs::temp_directory_path() / ("hotlens-silenced-" + std::to_string(::getpid()));
  Workspace() { fs::create_directories(root / ".hotlens"); }
  ~Workspace() { fs::remove_all(root); }

  fs::path list() const { return silenced_in(root); }
  void write(const std::string& text) const { std::ofstream(list(), std::ios::app) << text; }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(list()).rdbuf();
    return out.str();
  }
  Silenced place(const std::string& kind, const std::string& line = "a()", std::size_t nth = 0) const {
    return {.kind = kind, .file = root / "train.py", .text = line, .nth = nth};
  }
};

}  // namespace

TEST_CASE("a kind is silenced at its line alone, and told again") {
  const Workspace at;
  CHECK(at.list() == silenced_of(at.root / ".hotlens/profiles/p"));
  CHECK(read_silenced(at.list()).empty());
  REQUIRE(silence(at.list(), at.place("no_dropout")));
  REQUIRE(silence(at.list(), at.place("fused_optimizer", "b()", 1)));
  REQUIRE(silence(at.list(), at.place("no_dropout")));  // once more
  const auto all = read_silenced(at.list());
  CHECK(all == std::vector{at.place("fused_optimizer", "b()", 1), at.place("no_dropout")});
  CHECK(silences(all, at.place("no_dropout")));
  CHECK_FALSE(silences(all, at.place("no_dropout", "b()")));
  CHECK_FALSE(silences(all, at.place("fused_optimizer", "b()", 0)));
  CHECK_FALSE(silences(all, {.kind = "no_dropout", .file = at.root / "other.py", .text = "a()"}));
  REQUIRE(tell_again(at.list(), at.place("no_dropout")));
  CHECK(read_silenced(at.list()) == std::vector{at.place("fused_optimizer", "b()", 1)});
}

TEST_CASE("a place moves with its workspace, and is the same behind a link") {
  const Workspace at;
  REQUIRE(silence(at.list(), at.place("no_dropout")));
  CHECK(at.text().contains(R"("file":"train.py")"));
  const fs::path link = at.root.string() + "-link";
  fs::create_directory_symlink(at.root, link);
  CHECK(read_silenced(silenced_in(link)) == std::vector{at.place("no_dropout")});
  fs::remove(link);
  REQUIRE(silence(at.list(), {.kind = "no_dropout", .file = "/elsewhere/model.py", .text = "a()"}));
  CHECK(read_silenced(at.list()).back().file == "/elsewhere/model.py");
}

TEST_CASE("what is broken silences nothing and stays") {
  const Workspace at;
  const std::string broken = R"({"schema":"hotlens.silenced/2","kind":"k","file":"f","text":"t"}
{"schema":"hotlens.silenced/1","kind":"k","file":"f"}
{"schema":"hotlens.silenced/1","kind":"k","file":"f","text":"t","nth":-1}
{"schema":"hotlens.silenced/1","kind":"k","file":"f","text":"t","silenced":"no"}
[]
{
)";
  at.write(broken);
  CHECK(read_silenced(at.list()).empty());
  REQUIRE(silence(at.list(), at.place("no_dropout")));
  CHECK(read_silenced(at.list()).size() == 1);
  CHECK(at.text().starts_with(broken));
}

TEST_CASE("a list that cannot be written says so") {
  const Workspace at;
  fs::create_directories(at.list());
  const auto kept = silence(at.list(), at.place("no_dropout"));
  REQUIRE_FALSE(kept);
  CHECK(kept.error().message.contains("could not be written"));
  CHECK(read_silenced(at.list()).empty());
}
