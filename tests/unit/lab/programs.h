// Small programs for tests of what-ifs, and what an edit made of them.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/lab/whatif/kinds.h"
#include "tests/unit/catch.h"

namespace hotlens::lab {

using nlohmann::json;

inline json tensor(const char* kind, const char* name, std::vector<int> shape = {4}, const char* dtype = "float32") {
  json stride = json::array();
  int size = 1;
  for (std::size_t at = shape.size(); at-- > 0; size *= shape[at]) stride.insert(stride.begin(), size);
  return {{"kind", kind},   {"name", name},    {"shape", shape}, {"stride", stride},
          {"dtype", dtype}, {"device", "cpu"}, {"storage", 0},   {"storage_bytes", size * 4}};
}

inline json op(const char* name, std::vector<json> args, json out = nullptr, const char* stage = "forward") {
  return {{"op", name}, {"overload", ""}, {"args", std::move(args)}, {"out", std::move(out)}, {"stage", stage}, {"module", 0}};
}

inline json t(int id) {
  return {{"t", id}};
}

inline Program program(json tensors, json operators) {
  for (std::size_t at = 0; at < tensors.size(); ++at) tensors[at]["storage"] = at;
  auto read = decode({{"format", 1},
                      {"device", "cpu"},
                      {"threads", 1},
                      {"modules", {{{"path", "layer"}}}},
                      {"tensors", std::move(tensors)},
                      {"operators", std::move(operators)}});
  REQUIRE(read);
  return *std::move(read);
}

inline std::vector<std::string> names(const Program& of) {
  std::vector<std::string> found;
  for (const Operator& one : of.operators) found.push_back(one.name);
  return found;
}

inline const Operator& named(const Program& of, std::string_view name) {
  const auto found = std::ranges::find(of.operators, name, &Operator::name);
  REQUIRE(found != of.operators.end());
  return *found;
}

inline Edit done(Edited edited) {
  if (!edited) FAIL(edited.error().reason);
  CHECK(decode(encode(edited->program)));  // the worker takes it
  return *std::move(edited);
}

inline std::string reason(const Edited& edited) {
  REQUIRE(!edited);
  return edited.error().reason;
}

}  // namespace hotlens::lab
