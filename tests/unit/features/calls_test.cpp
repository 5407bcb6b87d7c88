#include "server/features/actions/calls.h"

#include "tests/unit/catch.h"
#include "tests/unit/features/fixture.h"

using namespace hotlens;
using namespace hotlens::features;

namespace {

std::vector<std::string> spelled(const FileView& view, source::Position at) {
  std::vector<std::string> out;
  for (const CallPlace& place : places_of(view, layers_at(view, at), {})) {
    out.push_back(std::string(source::name(place.role)) + " " + std::to_string(place.range.begin.line) + " " +
                  (place.label.empty() ? "-" : "+"));
  }
  return out;
}

}  // namespace

TEST_CASE("a layer leads to its definition and its calls, from each of them") {
  const test::TemporaryFolder folder;
  const FileView view = test::open(test::small_profile(folder.path() / "model.py"));
  const std::vector<std::string> norm{"definition 6 +", "call 11 +"};
  CHECK(spelled(view, {6, 12}) == norm);
  CHECK(spelled(view, {11, 16}) == norm);
  CHECK(spelled(view, {11, 0}) == norm);  // anywhere on the line
  CHECK(places_of(view, layers_at(view, {6, 12}), {}).back().text == "return self.norm(x)");
}

TEST_CASE("a list of layers leads to the calls of what it holds; a class to its line") {
  const test::TemporaryFolder folder;
  const FileView view = test::open(test::small_profile(folder.path() / "model.py"));
  CHECK(spelled(view, {5, 8}) == std::vector<std::string>{"definition 5 +", "definition 5 +", "call 10 +"});
  CHECK(spelled(view, {2, 6}) == std::vector<std::string>{"class 2 +"});
}

TEST_CASE("a line without layers, and a file without facts, lead nowhere") {
  const test::TemporaryFolder folder;
  const auto profile = test::small_profile(folder.path() / "model.py");
  CHECK(layers_at(test::open(profile), {16, 10}).empty());
  CHECK(layers_at(test::open(profile), {500, 0}).empty());
  CHECK(layers_at(features::view("x.py", source::Tree::parse("x = 1\n"), nullptr, nullptr), {0, 0}).empty());
  CHECK(has_places_of(*profile, {0}, {profile::ModuleId{4}}));
  CHECK_FALSE(has_places_of(*profile, {0}, {}));
}
