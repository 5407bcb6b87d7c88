#include "annotator/report/fold.h"

#include <functional>
#include <random>
#include <set>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::report;
using namespace hotlens::profile;

namespace {

// One step of 1000 ns; add() gives a module its host time forward.
struct Tree {
  profile::Profile profile;
  Tree() { profile.steps.push_back({.wall = Ns{1000}}); }

  profile::ModuleId add(profile::ModuleId parent, const std::string& path, const std::string& class_name, std::int64_t time) {
    const profile::ModuleId id{static_cast<std::uint32_t>(profile.modules.size())};
    profile::Module module{.path = path, .class_name = class_name, .parent = parent, .calls = 1};
    module.forward = {profile::Times{.cpu_total = Ns{time}}};
    module.backward = {profile::Times{}};
    profile.modules.push_back(module);
    if (parent.valid()) profile.modules[parent.index].children.push_back(id);
    return id;
  }
};

void collect(const std::vector<Fold>& rows, std::multiset<std::uint32_t>& seen) {
  for (const Fold& row : rows) {
    for (const profile::ModuleId id : row.modules) seen.insert(id.index);
    collect(row.children, seen);
  }
}

}  // namespace

TEST_CASE("equal siblings are one row with their spread, and so are their children") {
  Tree tree;
  const profile::ModuleId root = tree.add({}, "", "Net", 900);
  for (int i = 0; i < 3; ++i) {
    const std::string path = "layers." + std::to_string(i);
    const profile::ModuleId layer = tree.add(root, path, "Layer", 200 + i * 100);
    tree.add(layer, path + ".a", "Linear", 120 + i);
    tree.add(layer, path + ".b", "Norm", 60);
  }
  const std::vector<Fold> rows = fold(tree.profile, {});
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].children.size() == 1);
  const Fold& layers = rows[0].children[0];
  CHECK(layers.modules.size() == 3);
  CHECK(layers.forward == Ns{900});
  CHECK(layers.least == Ns{200});
  CHECK(layers.middle == Ns{300});
  CHECK(layers.most == Ns{400});
  REQUIRE(layers.children.size() == 2);
  CHECK(layers.children[0].modules.size() == 3);
  CHECK(layers.children[0].forward == Ns{120 + 121 + 122});
}

TEST_CASE("blocks of another build, or apart, are not folded together") {
  Tree tree;
  const profile::ModuleId root = tree.add({}, "", "Net", 900);
  tree.add(tree.add(root, "0", "Layer", 300), "0.a", "Linear", 200);
  tree.add(tree.add(root, "1", "Layer", 300), "1.a", "Conv", 200);
  tree.add(tree.add(root, "2", "Layer", 300), "2.a", "Linear", 200);
  CHECK(fold(tree.profile, {})[0].children.size() == 3);
}

TEST_CASE("neighbours below the share are one row; a single one keeps its own") {
  Tree tree;
  const profile::ModuleId root = tree.add({}, "", "Net", 900);
  tree.add(root, "a", "A", 2);
  tree.add(root, "b", "B", 1);
  tree.add(root, "c", "C", 800);
  tree.add(root, "d", "D", 3);
  const std::vector<Fold> rows = fold(tree.profile, {})[0].children;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].kind == Fold::Kind::small);
  CHECK(rows[0].forward == Ns{3});
  CHECK(rows[1].modules.front() == profile::ModuleId{3});
  CHECK(rows[2].kind == Fold::Kind::modules);
}

TEST_CASE("an only child that holds nearly all of the time is lifted over its wrapper") {
  Tree tree;
  const profile::ModuleId root = tree.add({}, "", "DataParallel", 900);
  const profile::ModuleId inner = tree.add(root, "module", "Net", 880);
  tree.add(inner, "module.a", "A", 400);
  tree.add(inner, "module.b", "B", 400);
  const std::vector<Fold> rows = fold(tree.profile, {});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].modules == std::vector{inner});
  CHECK(rows[0].wrappers == std::vector{root});
  CHECK(fold(tree.profile, {.dominant = 0.99})[0].wrappers.empty());
}

TEST_CASE("ranges that a person named are equal when their names are but for numbers") {
  Tree tree;
  const profile::ModuleId root = tree.add({}, "model", "", 900);
  for (const char* name : {"block 1", "block 2", "wait for embeddings", "over arch"}) {
    tree.add(root, "model/" + std::string(name), "", 200);
  }
  const std::vector<Fold> rows = fold(tree.profile, {})[0].children;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].modules.size() == 2);
}

TEST_CASE("folding loses no module, and unfolded is the tree itself") {
  const unsigned seed = 3;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    Tree tree;
    tree.add({}, "", "Net", 1000);
    for (std::uint32_t i = 1; i < 60; ++i) {
      const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
      tree.add(profile::ModuleId{below(i)}, std::to_string(i), std::string(1, static_cast<char>(65 + below(3))), below(40));
    }
    std::multiset<std::uint32_t> plain;
    collect(fold(tree.profile, kUnfolded), plain);
    REQUIRE(plain.size() == tree.profile.modules.size());
    // What a row stands for: its modules, and everything below a row that is not opened.
    std::set<std::uint32_t> covered;
    const std::function<void(profile::ModuleId)> whole = [&](profile::ModuleId id) {
      covered.insert(id.index);
      for (const profile::ModuleId child : tree.profile.at(id).children) whole(child);
    };
    const std::function<void(const Fold&)> cover = [&](const Fold& row) {
      for (const profile::ModuleId id : row.modules) {
        covered.insert(id.index);
        if (row.children.empty()) whole(id);
      }
      for (const Fold& child : row.children) cover(child);
    };
    for (const Fold& row : fold(tree.profile, {.lift = false})) cover(row);
    CHECK(covered.size() == tree.profile.modules.size());
  }
}

TEST_CASE("rows are of one step and add up, as medians over the steps do not") {
  Tree tree;
  tree.profile.steps = {{.wall = Ns{200}}, {.wall = Ns{210}}, {.wall = Ns{220}}};
  tree.profile.representative = 1;
  const auto take = [&](profile::ModuleId module, std::initializer_list<std::int64_t> times) {
    profile::PerStep& steps = tree.profile.modules[module.index].forward;
    steps.clear();
    for (const std::int64_t time : times) steps.push_back({.cpu_total = Ns{time}});
  };
  const profile::ModuleId root = tree.add({}, "", "Net", 0);
  take(root, {100, 110, 120});
  take(tree.add(root, "a", "Linear", 0), {90, 20, 60});
  take(tree.add(root, "b", "Norm", 0), {5, 85, 58});
  const std::vector<Fold> rows = fold(tree.profile, kUnfolded);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].forward == Ns{110});
  REQUIRE(rows[0].children.size() == 2);
  CHECK(rows[0].children[0].forward == Ns{20});
  CHECK(rows[0].children[1].forward == Ns{85});
}
