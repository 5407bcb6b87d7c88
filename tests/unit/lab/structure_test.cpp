#include <algorithm>
#include <nlohmann/json.hpp>

#include "annotator/lab/edited/edited.h"
#include "annotator/lab/edited/rewrite.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::layers;
using lab::Operator;
using lab::Program;
using nlohmann::json;

namespace {

json t(int id) {
  return {{"t", id}};
}

json tensor(const char* kind, const std::string& name, int storage, std::vector<int> shape) {
  json stride = json::array();
  int count = 1;
  for (std::size_t at = shape.size(); at-- > 0; count *= shape[at]) stride.insert(stride.begin(), count);
  return {{"kind", kind},
          {"name", name},
          {"shape", shape},
          {"stride", stride},
          {"dtype", "float32"},
          {"device", "cpu"},
          {"storage", storage},
          {"storage_bytes", 4 * count},
          {"requires_grad", kind == std::string("parameter")}};
}

json op(const char* name, json args, json out, int module, const char* stage = "forward") {
  return {{"op", name}, {"args", std::move(args)}, {"out", std::move(out)}, {"stage", stage}, {"module", module}, {"call", module}};
}

// Linear, ReLU, Linear; the update keeps a temporary until the next parameter has its own, as a loop's variable does. Ids: input 0, weights
// 1 and 2, their states 3 and 4.
json recorded() {
  json operators =
      json::array({op("aten::linear", {t(0), t(1)}, 5, 1), op("aten::relu", json::array({t(5)}), 6, 2),
                   op("aten::linear", {t(6), t(2)}, 7, 3), op("aten::sum", json::array({t(7)}), 8, -1, "loss"),
                   op("hotlens::free", {5, 6, 7}, nullptr, -1, "loss"), op("hotlens::backward", json::array({t(8)}), nullptr, -1, "loss")});
  for (int one = 0; one < 2; ++one) {
    operators.push_back(op("aten::mul_", {t(3 + one), 0.9}, 3 + one, -1, "optimizer"));
    operators.push_back(op("aten::sqrt", json::array({t(3 + one)}), 9 + one, -1, "optimizer"));
    if (one == 1) operators.push_back(op("hotlens::free", json::array({9}), nullptr, -1, "optimizer"));
    operators.push_back(op("aten::addcdiv_", {t(1 + one), {{"gradient", 1 + one}}, t(9 + one)}, 1 + one, -1, "optimizer"));
  }
  operators.push_back(op("hotlens::free", json::array({10}), nullptr, -1, "loss"));
  return {{"format", 1},
          {"device", "cpu"},
          {"threads", 1},
          {"modules",
           {{{"path", ""}, {"class", "Sequential"}},
            {{"path", "0"}, {"class", "Linear"}, {"attributes", {{"in_features", 4}, {"out_features", 4}}}},
            {{"path", "1"}, {"class", "ReLU"}},
            {{"path", "2"}, {"class", "Linear"}, {"attributes", {{"in_features", 4}, {"out_features", 4}}}}}},
          {"tensors",
           {tensor("input", "", 0, {8, 4}), tensor("parameter", "0.weight", 1, {4, 4}), tensor("parameter", "2.weight", 2, {4, 4}),
            tensor("state", "exp_avg_sq of 0.weight", 3, {4, 4}), tensor("state", "exp_avg_sq of 2.weight", 4, {4, 4})}},
          {"operators", operators}};
}

const std::string kFirst = "nn.Linear(4, 4, bias=False)", kLast = "nn.Linear(4, 4, False)";

std::string script(const std::string& entries) {
  return "import torch\nfrom torch import nn\nm = nn.Sequential(" + entries + ")\n";
}

Sources sources(const std::string& text) {
  Sources made{.files = {}, .script = "/p/train.py", .argv = {}};
  made.files["/p/train.py"] = std::make_shared<source::Code>("/p/train.py", text);
  return made;
}

const std::string kRecorded = script(kFirst + ", nn.ReLU(), " + kLast);

Changes changes(const std::string& entries) {
  auto found = compare(sources(kRecorded), sources(script(entries)), recorded().at("modules"));
  REQUIRE(found);
  return *std::move(found);
}

// Of the edited program, which decodes.
Program edited(const std::string& entries) {
  const auto program = lab::decode(recorded());
  REQUIRE(program);
  const auto rewritten = rewrite(*program, changes(entries));
  if (!rewritten) FAIL(rewritten.error().reason);
  auto again = lab::decode(lab::encode(rewritten->program));
  if (!again) FAIL(again.error().message);
  return *std::move(again);
}

std::vector<std::string> names(const Program& of) {
  std::vector<std::string> found;
  for (const Operator& one : of.operators) {
    if (one.kind == lab::OperatorKind::library) found.push_back(one.name);
  }
  return found;
}

std::vector<std::string> parameters(const Program& of) {
  std::vector<std::string> found;
  for (const lab::Tensor& one : of.tensors) {
    if (one.kind != lab::TensorKind::input) found.push_back(one.name);
  }
  std::ranges::sort(found);
  return found;
}

// Every tensor that an operator takes is there; what is let go is never taken again.
bool holds_together(const Program& of) {
  std::vector<bool> there(of.ids, false);
  for (std::size_t id = 0; id < of.tensors.size(); ++id) there[id] = true;
  bool all = true;
  for (const Operator& one : of.operators) {
    lab::for_each_tensor(one, [&](lab::TensorId id) { all = all && there[static_cast<std::size_t>(id)]; });
    if (one.kind == lab::OperatorKind::free)
      lab::for_each_tensor(one, [&](lab::TensorId id) { there[static_cast<std::size_t>(id)] = false; });
    for (const lab::TensorId id : one.out) {
      if (id != lab::kNoTensor) there[static_cast<std::size_t>(id)] = true;
    }
  }
  // What is left is the loss.
  return all && std::count(there.begin() + static_cast<std::ptrdiff_t>(of.tensors.size()), there.end(), true) == 1;
}

}  // namespace

using Names = std::vector<std::string>;
const Names kUpdate{"aten::mul_", "aten::sqrt", "aten::addcdiv_"};

TEST_CASE("entries are matched in order, those with equal arguments first") {
  const Changes more = changes(kFirst + ", nn.ReLU(), nn.Linear(4, 8), nn.ReLU(), " + kLast);
  CHECK(more.alignment.kept == std::map<std::string, std::string>{{"", ""}, {"0", "0"}, {"1", "1"}, {"4", "2"}});
  REQUIRE(more.alignment.gaps.size() == 1);
  REQUIRE(more.alignment.gaps[0].inserted.size() == 2);
  CHECK(more.alignment.gaps[0].inserted[1].path == "3");
  CHECK(more.changes.empty());
  const auto edits = lab::edits_of(more);
  REQUIRE(edits.size() == 2);
  CHECK(edits[0].what == "Linear(4, 8) added");
  CHECK(edits[0].at.line == 2);
  const auto removed = lab::edits_of(changes(kFirst + ",\n " + kLast)).at(0);
  CHECK(removed.what == "ReLU() removed");
  CHECK(removed.at.line == 2);  // where the Sequential is made
  CHECK(lab::edits_of(changes(kFirst + ", nn.Tanh(), " + kLast)).at(0).what == "ReLU → Tanh");
}

TEST_CASE("an entry that went is called no more, and what it was given goes on") {
  const Program program = edited(kFirst + ", " + kLast);
  CHECK(names(program) ==
        Names{"aten::linear", "aten::linear", "aten::sum", kUpdate[0], kUpdate[1], kUpdate[2], kUpdate[0], kUpdate[1], kUpdate[2]});
  CHECK(parameters(program) == Names{"0.weight", "1.weight", "exp_avg_sq of 0.weight", "exp_avg_sq of 1.weight"});
  CHECK(holds_together(program));
}

TEST_CASE("a layer of another kind is called as torch.nn calls it") {
  CHECK(names(edited(kFirst + ", nn.Dropout(0.2), " + kLast))[1] == "aten::dropout");
  CHECK(names(edited(kFirst + ", nn.LeakyReLU(), " + kLast))[1] == "aten::leaky_relu");
  CHECK(names(edited(kFirst + ", nn.Identity(), " + kLast))[1] == "aten::linear");
  const Program in_place = edited(kFirst + ", nn.SiLU(inplace=True), " + kLast);
  CHECK(names(in_place)[1] == "aten::silu_");
  CHECK(holds_together(in_place));
}

TEST_CASE("a new layer has its parameters, and the step does with them what it does with those beside them") {
  const Program program = edited(kFirst + ", nn.ReLU(), nn.Linear(4, 6), nn.Linear(6, 4), " + kLast);
  CHECK(std::ranges::count(names(program), "aten::linear") == 4);
  CHECK(std::ranges::count(names(program), "aten::addcdiv_") == 6);
  CHECK(parameters(program) == Names{"0.weight", "2.bias", "2.weight", "3.bias", "3.weight", "4.weight", "exp_avg_sq of 0.weight",
                                     "exp_avg_sq of 2.bias", "exp_avg_sq of 2.weight", "exp_avg_sq of 3.bias", "exp_avg_sq of 3.weight",
                                     "exp_avg_sq of 4.weight"});
  for (const lab::Tensor& one : program.tensors) {
    if (one.name.ends_with("2.weight")) CHECK(one.storage_bytes.offset == 4 * 6 * 4);
    if (one.name.ends_with("2.bias")) CHECK(one.shape == std::vector<lab::Whole>{{.offset = 6}});
  }
  CHECK(holds_together(program));
}

TEST_CASE("the temporary of a parameter goes when the next one has its own, new ones included") {
  const Program program = edited(kFirst + ", nn.ReLU(), nn.Linear(4, 4, bias=False), " + kLast);
  std::size_t held = 0, most = 0, square_roots = 0;
  for (const Operator& one : program.operators) {
    if (one.name == "aten::sqrt") most = std::max(most, ++held);
    if (one.name == "aten::sqrt") ++square_roots;
    if (one.kind == lab::OperatorKind::free && square_roots > 0) held -= one.args.size();
  }
  CHECK(square_roots == 3);
  CHECK(most == 2);
  CHECK(held == 0);
}

TEST_CASE("a layer with parameters that went takes its update along") {
  const Program program = edited(kFirst + ", nn.ReLU()");
  CHECK(names(program) == Names{"aten::linear", "aten::relu", "aten::sum", kUpdate[0], kUpdate[1], kUpdate[2]});
  CHECK(parameters(program) == Names{"0.weight", "exp_avg_sq of 0.weight"});
  CHECK(holds_together(program));
}

TEST_CASE("a new layer that is not known is refused by its name") {
  const auto program = lab::decode(recorded());
  REQUIRE(program);
  const auto refused = rewrite(*program, changes(kFirst + ", nn.Bilinear(4, 4, 4), " + kLast));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason.find("Bilinear") != std::string::npos);
  CHECK(refused.error().module == "1");
}
