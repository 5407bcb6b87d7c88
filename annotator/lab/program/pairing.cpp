#include "annotator/lab/program/pairing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace hotlens::lab {
namespace {

using nlohmann::json;
using Number = std::int64_t;

constexpr int kDeepestCompared = 16;  // of lists in arguments

bool takes_numbers(std::string_view op) {
  return op == "hotlens::clear_gradient" || op == "hotlens::input" || op == "hotlens::requires_grad" || op == "hotlens::free";
}

// Every place in an operator's arguments or results that names a tensor.
template <class Json, class Each>
void for_each_number(Json& value, bool plain, int depth, const Each& each) {
  if (depth > kDeepestCompared) return;
  if (value.is_array()) {
    for (auto& one : value) for_each_number(one, plain, depth + 1, each);
  } else if (value.is_object()) {
    for (auto& [key, inner] : value.items()) {
      if (key == "t" || key == "gradient") for_each_number(inner, true, depth + 1, each);
    }
  } else if (plain && value.is_number_integer()) {
    each(value);
  }
}

template <class Json, class Each>
void for_each_number_of(Json& op, const Each& each) {
  const bool plain = takes_numbers(op.at("op").template get_ref<const std::string&>());
  if (op.contains("args")) for_each_number(op.at("args"), plain, 0, each);
  if (op.contains("kwargs")) {
    for (auto& [key, value] : op.at("kwargs").items()) for_each_number(value, false, 0, each);
  }
  for (const char* pass : {"forward", "backward"}) {
    if (!op.contains(pass) || !op.at(pass).is_array()) continue;
    for (auto& inside : op.at(pass)) for_each_number_of(inside, each);
  }
  if (op.contains("out")) for_each_number(op.at("out"), true, 0, each);
}

// What an unused tensor is like, smaller ones first: sizes that follow the batch keep this order.
auto likeness(const json& tensor) {
  return std::tuple(tensor.value("kind", ""), tensor.value("dtype", ""), tensor.at("shape").size(),
                    tensor.at("storage_bytes").get<Number>());
}

// Numbers of the tensors before the step, those that are used first.
std::vector<Number> in_order(const json& document) {
  const json& tensors = document.at("tensors");
  const auto count = static_cast<Number>(tensors.size());
  std::vector<Number> order;
  std::vector<bool> seen(tensors.size());
  for (const json& op : document.at("operators")) {
    if (op.at("op") == "hotlens::free") continue;
    for_each_number_of(op, [&](const json& number) {
      const auto id = number.get<Number>();
      if (id < 0 || id >= count || seen[static_cast<std::size_t>(id)]) return;
      seen[static_cast<std::size_t>(id)] = true;
      order.push_back(id);
    });
  }
  const auto used = static_cast<std::ptrdiff_t>(order.size());
  for (Number id = 0; id < count; ++id) {
    if (!seen[static_cast<std::size_t>(id)]) order.push_back(id);
  }
  std::stable_sort(order.begin() + used, order.end(), [&](Number a, Number b) {
    return likeness(tensors[static_cast<std::size_t>(a)]) < likeness(tensors[static_cast<std::size_t>(b)]);
  });
  return order;
}

}  // namespace

json with_numbers_of(const json& measured, json other) {
  const std::vector<Number> wanted = in_order(measured), own = in_order(other);
  if (wanted.size() != own.size()) return other;
  std::map<Number, Number> number;
  std::map<Number, Number> storage;
  json tensors = json::array();
  for (std::size_t at = 0; at < own.size(); ++at) {
    number[own[at]] = wanted[at];
    const json& twin = measured["tensors"][static_cast<std::size_t>(wanted[at])];
    json tensor = other["tensors"][static_cast<std::size_t>(own[at])];
    const auto paired = storage.emplace(tensor.at("storage").get<Number>(), twin.at("storage").get<Number>()).first;
    tensor["storage"] = paired->second;
    if (tensor.contains("id")) tensor["id"] = wanted[at];
    tensors[static_cast<std::size_t>(wanted[at])] = std::move(tensor);
  }
  other["tensors"] = std::move(tensors);
  for (json& op : other["operators"]) {
    for_each_number_of(op, [&](json& id) {
      const auto found = number.find(id.get<Number>());
      if (found != number.end()) id = found->second;
    });
  }
  return other;
}

}  // namespace hotlens::lab
