#include "annotator/lab/program/program.h"

#include "annotator/lab/program/words.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace hotlens::lab {
namespace {

using nlohmann::json;

json encoded(const Whole& whole) {
  if (whole.is_fixed() && whole.denominator == 1) return whole.offset;
  json line{whole.offset, whole.numerator, whole.denominator};
  if (whole.square != 0) line.push_back(whole.square);
  return {{"batch", std::move(line)}};
}

json encoded(const std::vector<Whole>& wholes) {
  json list = json::array();
  for (const Whole& whole : wholes) list.push_back(encoded(whole));
  return list;
}

json encoded(double number) {
  if (std::isnan(number)) return {{"nan", 1}};
  if (std::isinf(number)) return {{"inf", number < 0 ? -1 : 1}};
  return number;
}

json encoded(const Value& value);

json encoded(const Values& values) {
  json list = json::array();
  for (const Value& value : values) list.push_back(encoded(value));
  return list;
}

json encoded(const Value& value) {
  struct {
    json operator()(const Nothing&) const { return nullptr; }
    json operator()(bool known) const { return known; }
    json operator()(const Whole& whole) const { return encoded(whole); }
    json operator()(double number) const { return encoded(number); }
    json operator()(const Complex& number) const { return {{"complex", {number.real, number.imaginary}}}; }
    json operator()(const std::string& text) const { return text; }
    json operator()(const TensorRef& tensor) const { return {{"t", tensor.id}}; }
    json operator()(const GradientRef& gradient) const { return {{"gradient", gradient.of}}; }
    json operator()(const NamedValue& named) const { return {{kNamed.at(static_cast<std::size_t>(named.kind)), named.name}}; }
    json operator()(const Values& values) const { return encoded(values); }
  } const each;
  return std::visit(each, value.is);
}

json encoded(const Tensor& tensor) {
  json row{{"kind", kTensorKinds.at(static_cast<std::size_t>(tensor.kind))},
           {"name", tensor.name},
           {"dtype", tensor.dtype},
           {"device", tensor.device},
           {"shape", encoded(tensor.shape)},
           {"stride", encoded(tensor.stride)},
           {"requires_grad", tensor.requires_grad},
           {"foreign", tensor.foreign},
           {"storage", tensor.storage},
           {"offset", encoded(tensor.offset)},
           {"storage_bytes", encoded(tensor.storage_bytes)}};
  if (tensor.least) row["min"] = encoded(*tensor.least);
  if (tensor.most) row["max"] = encoded(*tensor.most);
  if (tensor.range) std::tie(row["min"], row["max"]) = *tensor.range;
  for (const Slices& one : tensor.slices) row["slices"].push_back({{"dim", one.dimension}, {"min", one.least}, {"max", one.most}});
  if (tensor.zeros > 0) row["zeros"] = tensor.zeros;
  if (tensor.value) row["value"] = encoded(*tensor.value);
  return row;
}

json encoded(const Operator& op) {
  json row{{"op", op.name},           {"overload", op.overload},
           {"args", json::array()},   {"kwargs", json::object()},
           {"out", json::array()},    {"grad", op.grad},
           {"autocast", op.autocast}, {"stage", kStages.at(static_cast<std::size_t>(op.stage))}};
  for (const Value& value : op.args) {
    row["args"].push_back(takes_ids(op.kind) ? json(std::get<TensorRef>(value.is).id) : encoded(value));
  }
  for (const auto& [name, value] : op.kwargs) row["kwargs"][name] = encoded(value);
  for (const TensorId id : op.out) row["out"].push_back(id == kNoTensor ? json() : json(id));
  if (op.module != kNoModule) row["module"] = op.module;
  if (op.call >= 0) row["call"] = op.call;
  if (op.line >= 0) row["line"] = op.line;
  for (const auto& [place, number] : op.written) row["written"].push_back({place, number});
  for (const Operator& one : op.forward) row["forward"].push_back(encoded(one));
  for (const Operator& one : op.backward) row["backward"].push_back(encoded(one));
  return row;
}

}  // namespace

json encode(const Program& program) {
  json document{{"format", kFormat},        {"torch", program.torch},   {"device", program.device},  {"threads", program.threads},
                {"modules", json::array()}, {"tensors", json::array()}, {"operators", json::array()}};
  if (program.batch) document["batch_size"] = encoded(*program.batch);
  if (program.zeros_batch > 0) document["zeros_batch"] = program.zeros_batch;
  if (program.minor_faults) document["minor_faults"] = *program.minor_faults;
  if (program.start) document["allocator"]["start_bytes"] = encoded(*program.start);
  if (program.peak) document["allocator"]["peak_bytes"] = encoded(*program.peak);
  for (std::size_t at = 0; at < program.modules.size(); ++at) {
    document["modules"].push_back({{"path", program.modules[at]}, {"class", program.classes[at]}});
  }
  for (const Tensor& tensor : program.tensors) document["tensors"].push_back(encoded(tensor));
  for (const Operator& op : program.operators) document["operators"].push_back(encoded(op));
  return document;
}

}  // namespace hotlens::lab
