// What is kept until the backward pass: sums, sharing, masks, what is offered, and a bundle that lies.
#include "annotator/report/saved.h"

#include <algorithm>
#include <limits>

#include "annotator/profile/build/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::report;
using namespace hotlens::profile;

namespace {

Json use(int saver, const char* as, std::int64_t elements) {
  return {{"saver", saver}, {"as", as}, {"elements", elements}};
}

Json storage(const char* kind, std::int64_t bytes, std::int64_t number, const std::vector<Json>& by) {
  return {{"kind", kind}, {"device", "cpu"}, {"bytes", bytes}, {"count", number}, {"by", by}};
}

Json saver(const char* node, int module, int line) {
  return {{"node", node}, {"module", module}, {"line", line}};
}

// In the model of the fixture 3 is `a`, which comes before 2, `b`; 4 is the criterion. The relu is the model's own (0).
Json saved_file() {
  return {
      {"schema", "hotlens.saved/1"},
      {"refused", nullptr},
      {"pass", 2},
      {"passes", 3},
      {"savers",
       {saver("AddmmBackward0", 3, 1), saver("ReluBackward0", 0, 1), saver("AddmmBackward0", 2, 1), saver("MseLossBackward0", 4, 2)}},
      {"storages",
       {storage("input", 4000, 1, {use(0, "mat1", 1000)}), storage("activation", 8000, 1, {use(1, "result", 2000), use(2, "mat1", 2000)}),
        storage("activation", 320, 2, {use(1, "result", 80)}), storage("parameter", 80, 1, {use(2, "mat2", 20)}),
        storage("activation", 40, 1, {use(3, "self", 10), use(3, "target", 10)})}},
      {"hooked", {{{"saver", 0}, {"count", 4}}}},
      {"opaque", {{{"node", "Copy\u001b[31mSlices"}, {"count", 1}}}},
      {"unreadable", 2}};
}

std::shared_ptr<const Profile> loaded(const Json& saved = saved_file()) {
  const TemporaryFolder folder;
  Json manifest = manifest_json();
  manifest["saved"] = "saved.json";
  const std::filesystem::path bundle = write_bundle(folder.path() / "b", manifest);
  write_text(bundle / "saved.json", saved.is_string() ? saved.get<std::string>() : saved.dump());
  const auto profile = load(bundle);
  REQUIRE(profile.has_value());
  return *profile;
}

SavedAudit audit_of(const Profile& profile) {
  const auto audit = audit_saved(profile);
  REQUIRE(audit.has_value());
  return *audit;
}

const SavedRow& row(const Profile& profile, const SavedAudit& audit, std::string_view path, std::string_view node) {
  const auto found = std::ranges::find_if(audit.rows, [&](const SavedRow& each) {
    const SavedTensors::Saver& saver = profile.saved->savers[each.saver];
    return saver.node == node && saver.module.valid() && profile.at(saver.module).path == path;
  });
  REQUIRE(found != audit.rows.end());
  return *found;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

std::string why_not(const Profile& profile) {
  const auto audit = audit_saved(profile);
  REQUIRE_FALSE(audit.has_value());
  return audit.error().message;
}

}  // namespace

TEST_CASE("each storage counts once, inputs and parameters apart") {
  const auto profile = loaded();
  const SavedAudit audit = audit_of(*profile);
  CHECK(audit.total == Bytes{4000 + 8000 + 2 * 320 + 80 + 40});
  CHECK(audit.kinds == std::array{Bytes{8000 + 640 + 40}, Bytes{4000}, Bytes{80}, Bytes{0}});
  Bytes activations{}, other{}, needed{};
  for (const SavedRow& each : audit.rows) {
    activations = activations + each.activations;
    other = other + each.other;
    needed = needed + each.needed;
  }
  CHECK(activations == audit.kinds[0]);
  CHECK(other == Bytes{4080});
  CHECK(needed == audit.needed);
  Bytes by_node{};
  for (const SavedOfNode& node : audit.nodes) by_node = by_node + node.activations;
  CHECK(by_node == audit.kinds[0]);
}

TEST_CASE("what two modules keep counts for the first, and both are told of the other") {
  const auto profile = loaded();
  const SavedAudit audit = audit_of(*profile);
  const SavedRow& relu = row(*profile, audit, "", "ReluBackward0");
  const SavedRow& b = row(*profile, audit, "b", "AddmmBackward0");
  CHECK(relu.activations == Bytes{8640});
  CHECK(b.activations == Bytes{0});
  CHECK(b.keeps == Bytes{8080});
  REQUIRE(relu.shared_with.size() == 1);
  CHECK(profile->at(relu.shared_with.front()).path == "b");
  REQUIRE(b.shared_with.size() == 1);
  CHECK(profile->at(b.shared_with.front()).path.empty());
}

TEST_CASE("a mask of bits would do for what relu alone keeps, and not for what another reads") {
  const auto profile = loaded();
  CHECK(audit_of(*profile).needed == Bytes{8000 + 2 * 10 + 40});
}

TEST_CASE("a product is a mask in a dropout layer alone") {
  Json file = saved_file();
  file["savers"] = {saver("MulBackward0", 3, 1), saver("MulBackward0", 2, 1)};
  file["storages"] = {storage("activation", 400, 1, {use(0, "other", 100)}), storage("activation", 400, 1, {use(1, "other", 100)}),
                      storage("activation", 400, 1, {use(0, "self", 100)})};
  file["hooked"] = Json::array();
  Json model = model_json();
  model["modules"][3]["class"] = "Dropout";
  const TemporaryFolder folder;
  Json manifest = manifest_json();
  manifest["saved"] = "saved.json";
  const std::filesystem::path bundle = write_bundle(folder.path() / "b", manifest, model);
  write_text(bundle / "saved.json", file.dump());
  CHECK(audit_of(*load(bundle).value()).needed == Bytes{13 + 400 + 400});
}

TEST_CASE("what a module holds includes what is below it, and says with whom it shares") {
  const auto profile = loaded();
  const auto named = [&](std::string_view path) {
    const auto at = std::ranges::find(profile->modules, path, &Module::path);
    return ModuleId{static_cast<std::uint32_t>(at - profile->modules.begin())};
  };
  const std::array net = {named("")}, b = {named("b")}, a = {named("a")};
  CHECK(held_until_backward(*profile, net).bytes == Bytes{8640});
  CHECK_FALSE(held_until_backward(*profile, net).shared_with);
  CHECK(held_until_backward(*profile, b).bytes == Bytes{8000});
  CHECK(held_until_backward(*profile, b).shared_with == named(""));
  CHECK(held_until_backward(*profile, a).bytes == Bytes{0});  // the batch is no activation
}

TEST_CASE("the JSON of what is kept has its shape") {
  const auto profile = loaded();
  const Json json = Json::parse(saved_json(*profile, audit_of(*profile)));
  CHECK(json["schema"] == "hotlens.saved_report/1");
  CHECK(keys(json) == std::vector<std::string>{"backward_pass", "backward_passes", "keep_less", "nodes", "not_counted", "peak_in_optimizer",
                                               "profile", "savers", "schema", "totals"});
  CHECK(keys(json["totals"]) == std::vector<std::string>{"activations_bytes", "activations_needed_bytes", "buffers_bytes", "inputs_bytes",
                                                         "parameters_bytes", "saved_bytes", "tensors"});
  CHECK(keys(json["savers"][0]) == std::vector<std::string>{"activations_bytes", "class", "file", "keeps_bytes", "line", "module",
                                                            "needed_bytes", "node", "other_bytes", "shared_with", "tensors"});
  CHECK(keys(json["nodes"][0]) == std::vector<std::string>{"activations_bytes", "needed_bytes", "node", "tensors"});
  CHECK(keys(json["not_counted"][0]) == std::vector<std::string>{"class", "count", "file", "line", "module", "node", "why"});
  CHECK(json["totals"]["saved_bytes"] == 12760);
  CHECK(json["backward_pass"] == 2);
}

TEST_CASE("the text says the same, and no name steers the terminal") {
  const auto profile = loaded();
  const std::string text = saved_text(*profile, audit_of(*profile), false, false);
  CHECK_THAT(text, Catch::Contains("kept from the forward to the backward pass: 12.8 kB in 6 tensors, each storage once"));
  CHECK_THAT(text, Catch::Contains("of backward pass 2 of 3"));
  CHECK_THAT(text, Catch::Contains("4 nodes in a under hooks of the script's own"));
  CHECK_THAT(text, Catch::Contains("not counted: 1 node that does not show what it keeps (Copy"));
  CHECK_THAT(text, Catch::Contains("Net  ReluBackward0") && Catch::Contains("shared with b") && Catch::Contains("train.py:10"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a formula of GELU is offered at its line with what it keeps beside the input") {
  Json file = saved_file();
  file["savers"] = {saver("TanhBackward0", 3, 1), saver("PowBackward0", 3, 1), saver("MulBackward0", 3, 1), saver("AddmmBackward0", 2, 2)};
  // x is kept by others as well; tanh's result, the factor and their product's operand are the formula's own.
  file["storages"] = {storage("activation", 400, 1, {use(1, "self", 100), use(3, "mat1", 100)}),
                      storage("activation", 400, 1, {use(0, "result", 100)}), storage("activation", 400, 2, {use(2, "other", 100)})};
  const auto profile = loaded(file);
  const SavedAudit audit = audit_of(*profile);
  REQUIRE(audit.less.size() == 2);
  CHECK(audit.less[0].kind == "gelu_tanh");
  CHECK(audit.less[0].at_least == Bytes{800});
  REQUIRE(audit.less[0].place);
  CHECK(audit.less[0].place->line == 9);
  CHECK(audit.less[1].kind == "checkpoint");

  file["savers"][1]["node"] = "SoftplusBackward0";  // tanh of softplus is Mish
  CHECK(audit_of(*loaded(file)).less.front().kind == "checkpoint");
}

TEST_CASE("where the step holds most in its optimizer nothing is offered") {
  auto profile = std::make_shared<Profile>(*loaded());
  profile->at_peak.moment = MemoryAtPeak::Moment{.stage = attribution::Stage::optimizer};
  const SavedAudit audit = audit_of(*profile);
  CHECK(audit.less.empty());
  CHECK_THAT(saved_text(*profile, audit, false, false), Catch::Contains("does not lower that peak") && !Catch::Contains("checkpoint`"));
}

TEST_CASE("a profile without an answer says why and what to do") {
  const TemporaryFolder folder;
  const std::filesystem::path bundle = write_bundle(folder.path() / "b");
  CHECK_THAT(why_not(*load(bundle).value()), Catch::Contains("older Hotlens") && Catch::Contains("hotlens run"));
  CHECK_THAT(why_not(*load(bundle / "trace-0.json.gz").value()),
             Catch::Contains("a trace does not tell") && Catch::Contains("hotlens run"));
  CHECK_THAT(why_not(*loaded({{"schema", "hotlens.saved/1"}, {"refused", "the step has no \u001b[2Jbackward pass"}})),
             Catch::Contains("backward pass") && !Catch::Contains("\x1b"));
}

TEST_CASE("a broken file of saved tensors costs the answer alone") {
  for (const Json& file : {Json("{\"schema\":"), Json("[]"), Json{{"schema", "hotlens.saved/2"}}, Json{{"schema", 3}}}) {
    const auto profile = loaded(file);
    CHECK_FALSE(profile->saved);
    CHECK(std::ranges::count(profile->warnings, "no-saved", &Issue::code) == 1);
  }
}

TEST_CASE("numbers that cannot be are left out with their row") {
  Json file = saved_file();
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<Json> one = {use(0, "mat1", 10)};
  file["storages"] = {storage("activation", huge, 1, one),
                      storage("activation", std::int64_t{1} << 43, 1 << 20, one),
                      storage("activation", -1, 1, one),
                      storage("activation", 8, 0, one),
                      storage("activation", 8, -3, one),
                      storage("something", 8, 1, one),
                      storage("activation", 8, 1, {}),
                      storage("activation", 8, 1, {use(99, "self", 1)}),
                      storage("activation", 8, 1, {use(-1, "self", 1)}),
                      storage("activation", 8, 1, {use(0, "self", -1)}),
                      Json(7),
                      storage("activation", 16, 1, one)};
  file["savers"] = Json::array({saver("AddmmBackward0", 99, 99)});
  file["hooked"] = {{{"saver", 5}, {"count", 1}}, {{"saver", 0}, {"count", huge}}};
  file["unreadable"] = -4;
  const auto profile = loaded(file);
  const SavedAudit audit = audit_of(*profile);
  CHECK(audit.total == Bytes{16});
  CHECK(profile->saved->hooked.empty());
  CHECK_FALSE(profile->saved->savers[0].module.valid());
  CHECK_FALSE(profile->saved->savers[0].place);
  CHECK(profile->saved->unreadable == 0);
  CHECK_THAT(saved_text(*profile, audit, false, true), Catch::Contains("(the loop)  AddmmBackward0"));
}
