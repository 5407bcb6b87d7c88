#include "server/features/hints/symbols.h"

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;
using Kind = Symbol::Kind;

namespace {

std::vector<Symbol> outline(const FileView& view) {
  return symbols(view, inlay_hints(view, {}, {}));
}

const Symbol& named(const std::vector<Symbol>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Symbol::name);
  if (found == list.end()) FAIL("no symbol " << name);
  return *found;
}

}  // namespace

TEST_CASE("lines with hints are symbols inside their functions and classes, and nothing else is") {
  const test::TemporaryFolder folder;
  const auto profile = test::small_profile(folder.path() / "model.py");
  const FileView view = test::open(profile, "def unused():\n    return 1\n\n" + std::string(test::kModelText));
  const std::vector<Symbol> all = outline(view);
  REQUIRE(all.size() == 2);
  const Symbol& net = named(all, "Net");
  CHECK((net.kind == Kind::type && !net.detail.empty()));
  CHECK((net.range.begin == source::Position{5, 0} && net.range.end == source::Position{14, 27}));
  CHECK((net.selection.begin == source::Position{5, 6} && net.selection.end == source::Position{5, 9}));
  const Symbol& init = named(net.children, "__init__");
  CHECK((init.kind == Kind::method && init.detail.empty()));
  CHECK((named(init.children, "layers").kind == Kind::layer && named(init.children, "norm").kind == Kind::layer));
  const Symbol& forward = named(net.children, "forward");
  CHECK(named(forward.children, "x = layer(x)").kind == Kind::line);
  const Symbol& train = named(all, "train");
  CHECK(train.kind == Kind::function);
  CHECK(named(train.children, "optimizer.step()").kind == Kind::stage);
}

TEST_CASE("the detail of a symbol is the label of its line's hint") {
  const test::TemporaryFolder folder;
  const FileView view = test::open(test::small_profile(folder.path() / "model.py"));
  const std::vector<Symbol> all = outline(view);
  for (const Hint& hint : inlay_hints(view, {}, {})) {
    if (hint.at.line == 2) CHECK(named(all, "Net").detail == hint.label);
    if (hint.at.line == 6) CHECK(named(named(named(all, "Net").children, "__init__").children, "norm").detail == hint.label);
  }
}

TEST_CASE("a text without facts has no symbols, and one that is being typed keeps what is whole") {
  CHECK(outline(features::view("x.py", source::Tree::parse("class A:\n    pass\n"), nullptr, nullptr)).empty());
  const test::TemporaryFolder folder;
  const auto profile = test::small_profile(folder.path() / "model.py");
  const FileView view = test::open(profile, std::string(test::kModelText) + "class \n");
  CHECK(named(outline(view), "Net").children.size() == 2);
}
