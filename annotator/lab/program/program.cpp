#include "annotator/lab/program/program.h"

#include "annotator/lab/program/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

namespace hotlens::lab {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTensors = 4'000'000;  // ids of a step; a training step of a thousand layers makes some ten thousand
constexpr int kDeepestPass = 2;                  // autograd sees none of what is applied within
constexpr int kDeepest = 8;                      // of lists in arguments; schemas know two levels

// Thrown inside decode() only, so that a reader of ten levels needs no check at each.
struct Broken {
  std::string what;
};

[[noreturn]] void broken(const std::string& what) {
  throw Broken{what};
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) broken(std::string("`") + key + "` is missing");
  return *found;
}

bool has(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

const json& list(const json& value, const char* what) {
  if (!value.is_array()) broken(std::string(what) + " is no list");
  return value;
}

std::string text(const json& object, const char* key) {
  if (!has(object, key)) return {};
  if (!object.at(key).is_string()) broken(std::string("`") + key + "` is no text");
  return object.at(key).get<std::string>();
}

bool truth(const json& object, const char* key, bool otherwise) {
  if (!has(object, key)) return otherwise;
  if (!object.at(key).is_boolean()) broken(std::string("`") + key + "` is neither true nor false");
  return object.at(key).get<bool>();
}

std::int64_t number(const json& value) {
  const bool large = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!value.is_number_integer() || large) broken("a whole number is expected");
  return value.get<std::int64_t>();
}

Whole whole(const json& value) {
  if (!value.is_object()) return {.offset = number(value)};
  const json& line = list(member(value, "batch"), "`batch`");
  if (line.size() != 3 && line.size() != 4) broken("`batch` takes three numbers or four");
  const Whole read{.offset = number(line[0]),
                   .numerator = number(line[1]),
                   .denominator = number(line[2]),
                   .square = line.size() == 4 ? number(line[3]) : 0};
  if (read.denominator <= 0) broken("`batch` has no positive denominator");
  return read;
}

std::vector<Whole> wholes(const json& values) {
  std::vector<Whole> read;
  for (const json& value : list(values, "a shape")) read.push_back(whole(value));
  return read;
}

std::optional<Whole> maybe_whole(const json& object, const char* key) {
  if (!has(object, key) || object.at(key).is_number_float()) return std::nullopt;
  return whole(object.at(key));
}

bool is_real(const json& object, const char* key) {
  return has(object, key) && object.at(key).is_number_float();
}

class Decoder {
 public:
  explicit Decoder(const json& document) : document_(document) {}

  Program run() {
    if (!document_.is_object()) broken("the program is no object");
    if (number(member(document_, "format")) != kFormat) broken("the program has a format of another version; record again");
    if (const std::string reason = text(document_, "refused"); !reason.empty()) broken(reason);
    program_.torch = text(document_, "torch");
    program_.device = text(document_, "device");
    if (has(document_, "threads")) program_.threads = static_cast<int>(std::clamp<std::int64_t>(number(document_.at("threads")), 1, 1024));
    program_.batch = maybe_whole(document_, "batch_size");
    if (const auto found = document_.find("zeros_batch"); found != document_.end() && found->is_number_integer())
      program_.zeros_batch = std::max<std::int64_t>(found->get<std::int64_t>(), 0);
    if (has(document_, "minor_faults")) program_.minor_faults = number(document_.at("minor_faults"));
    if (has(document_, "allocator")) {
      program_.start = maybe_whole(document_.at("allocator"), "start_bytes");
      program_.peak = maybe_whole(document_.at("allocator"), "peak_bytes");
    }
    if (has(document_, "modules")) {
      for (const json& module : list(document_.at("modules"), "`modules`")) {
        program_.modules.push_back(text(module, "path"));
        program_.classes.push_back(text(module, "class"));
      }
    }
    for (const json& tensor : list(member(document_, "tensors"), "`tensors`")) at("tensors", [&] { add_tensor(tensor); });
    made_.assign(program_.tensors.size(), true);
    for (const json& op : list(member(document_, "operators"), "`operators`"))
      at("operators", [&] { program_.operators.push_back(read_operator(op, 0)); });
    program_.ids = made_.size();
    return std::move(program_);
  }

 private:
  template <class Body>
  void at(const char* part, Body body) {
    const std::size_t index = part == std::string_view("tensors") ? program_.tensors.size() : program_.operators.size();
    try {
      body();
    } catch (const Broken& reason) {
      broken(std::string(part) + "[" + std::to_string(index) + "]: " + reason.what);
    }
  }

  void add_tensor(const json& tensor) {
    if (!tensor.is_object()) broken("a tensor is no object");
    if (has(tensor, "id") && number(tensor.at("id")) != static_cast<std::int64_t>(program_.tensors.size())) broken("ids are not in order");
    Tensor read{.kind = kind(text(tensor, "kind")),
                .name = text(tensor, "name"),
                .dtype = text(tensor, "dtype"),
                .device = text(tensor, "device"),
                .shape = wholes(member(tensor, "shape")),
                .stride = wholes(member(tensor, "stride")),
                .requires_grad = truth(tensor, "requires_grad", false),
                .foreign = truth(tensor, "foreign", false),
                .storage = number(member(tensor, "storage")),
                .offset = has(tensor, "offset") ? whole(tensor.at("offset")) : Whole{},
                .storage_bytes = whole(member(tensor, "storage_bytes")),
                .least = maybe_whole(tensor, "min"),
                .most = maybe_whole(tensor, "max"),
                .range = {},
                .zeros = is_real(tensor, "zeros") ? std::clamp(tensor.at("zeros").get<double>(), 0.0, 1.0) : 0.0,
                .value = {}};
    if (read.shape.size() != read.stride.size()) broken("shape and stride differ in length");
    if (is_real(tensor, "min") && is_real(tensor, "max")) read.range = {tensor.at("min").get<double>(), tensor.at("max").get<double>()};
    if (has(tensor, "value")) read.value = value(tensor.at("value"), 0);
    read.slices = slices(tensor, read.shape.size());
    program_.tensors.push_back(std::move(read));
  }

  static std::vector<std::int64_t> numbers(const json& values) {
    std::vector<std::int64_t> read;
    for (const json& value : list(values, "a list of numbers")) read.push_back(number(value));
    return read;
  }

  static std::vector<Slices> slices(const json& tensor, std::size_t dimensions) {
    std::vector<Slices> read;
    if (!has(tensor, "slices")) return read;
    for (const json& one : list(tensor.at("slices"), "`slices`")) {
      const std::int64_t dimension = number(member(one, "dim"));
      if (dimension < 0 || dimension >= static_cast<std::int64_t>(dimensions)) broken("`slices` names no dimension");
      Slices along{static_cast<std::size_t>(dimension), numbers(member(one, "min")), numbers(member(one, "max"))};
      if (along.least.size() != along.most.size()) broken("`slices` has a smallest number without a largest");
      read.push_back(std::move(along));
    }
    return read;
  }

  static TensorKind kind(const std::string& name) {
    const auto found = std::ranges::find(kTensorKinds, name);
    return found == kTensorKinds.end() ? TensorKind::other : static_cast<TensorKind>(found - kTensorKinds.begin());
  }

  static Stage stage(const std::string& name) {
    const auto found = std::ranges::find(kStages, name);
    return found == kStages.end() ? Stage::other : static_cast<Stage>(found - kStages.begin());
  }

  Operator read_operator(const json& op, int depth) {
    if (!op.is_object()) broken("an operator is no object");
    Operator read{.name = text(op, "op"), .overload = text(op, "overload"), .args = {}, .kwargs = {}, .out = {}};
    if (read.name.empty()) broken("`op` is missing");
    read.kind = special(read.name);
    read.grad = truth(op, "grad", true);
    read.autocast = text(op, "autocast");
    read.stage = stage(text(op, "stage"));
    if (has(op, "module") && number(op.at("module")) >= 0) read.module = static_cast<std::size_t>(number(op.at("module")));
    if (read.module != kNoModule && read.module >= program_.modules.size()) broken("`module` is not in the list of modules");
    if (has(op, "call")) read.call = number(op.at("call"));
    if (has(op, "line")) read.line = number(op.at("line"));
    if (has(op, "written")) {
      for (const json& one : list(op.at("written"), "`written`")) {
        const json& pair = list(one, "`written`");
        if (pair.size() != 2 || number(pair[0]) < 0) broken("`written` has no place and number");
        read.written.emplace_back(number(pair[0]), number(pair[1]));
      }
    }
    if (has(op, "last_named")) {
      for (const json& id : list(op.at("last_named"), "`last_named`")) read.last_named.push_back(used(id));
    }
    if (has(op, "args")) read.args = takes_ids(read.kind) ? subjects(op.at("args")) : values(op.at("args"), 0);
    if (has(op, "kwargs")) {
      if (!op.at("kwargs").is_object()) broken("`kwargs` is no object");
      for (const auto& [name, argument] : op.at("kwargs").items()) read.kwargs.emplace_back(name, value(argument, 0));
    }
    if (read.kind == OperatorKind::function && has(op, "forward")) read.forward = pass(op.at("forward"), depth);
    if (op.contains("out")) add_results(op.at("out"), read.out, 0);
    if (has(op, "shapes")) add_shapes(op.at("shapes"), read.shapes, 0);
    if (read.shapes.size() != read.out.size()) read.shapes.clear();
    if (read.kind == OperatorKind::function && has(op, "backward")) read.backward = pass(op.at("backward"), depth);
    return read;
  }

  std::vector<Operator> pass(const json& operators, int depth) {
    if (depth >= kDeepestPass) broken("custom autograd functions are nested too deeply");
    std::vector<Operator> read;
    for (const json& op : list(operators, "a pass")) read.push_back(read_operator(op, depth + 1));
    return read;
  }

  static OperatorKind special(const std::string& name) {
    if (!name.starts_with("hotlens::")) return OperatorKind::library;
    static constexpr std::array<std::pair<const char*, OperatorKind>, 14> kOurs{
        {{"hotlens::backward", OperatorKind::backward},
         {"hotlens::grad", OperatorKind::grad},
         {"hotlens::clear_gradient", OperatorKind::clear_gradient},
         {"hotlens::clear_autocast_cache", OperatorKind::clear_autocast_cache},
         {"hotlens::free", OperatorKind::free},
         {"hotlens::input", OperatorKind::input},
         {"hotlens::requires_grad", OperatorKind::requires_grad},
         {"hotlens::block", OperatorKind::block},
         {"hotlens::block_end", OperatorKind::block_end},
         {"hotlens::function", OperatorKind::function},
         {"hotlens::received", OperatorKind::received},
         {"hotlens::save", OperatorKind::save},
         {"hotlens::saved", OperatorKind::saved},
         {"hotlens::returned", OperatorKind::returned}}};
    for (const auto& [known, kind] : kOurs) {
      if (name == known) return kind;
    }
    broken("`" + name + "` is not known here; a newer Hotlens recorded it");
  }

  Values subjects(const json& args) const {
    Values read;
    for (const json& id : list(args, "`args`")) read.push_back({TensorRef{used(id)}});
    return read;
  }

  void add_results(const json& out, std::vector<TensorId>& to, int depth) {
    if (depth > kDeepest) broken("lists are nested too deeply");
    if (out.is_array()) {
      for (const json& one : out) add_results(one, to, depth + 1);
    } else if (out.is_null()) {
      to.push_back(kNoTensor);
    } else {
      const std::int64_t id = number(out);
      if (id < 0 || static_cast<std::size_t>(id) >= kMostTensors) broken("a result has no possible id");
      if (static_cast<std::size_t>(id) >= made_.size()) made_.resize(static_cast<std::size_t>(id) + 1, false);
      made_[static_cast<std::size_t>(id)] = true;
      to.push_back(id);
    }
  }

  // Nested as results are: a list of numbers, or of nothing, is a shape.
  static void add_shapes(const json& shapes, std::vector<std::vector<Whole>>& to, int depth) {
    if (depth > kDeepest) broken("lists are nested too deeply");
    const bool several = shapes.is_array() && std::ranges::any_of(shapes, [](const json& one) { return one.is_array() || one.is_null(); });
    if (several) {
      for (const json& one : shapes) add_shapes(one, to, depth + 1);
    } else {
      to.push_back(shapes.is_array() ? wholes(shapes) : std::vector<Whole>());
    }
  }

  TensorId used(const json& id) const {
    const std::int64_t wanted = number(id);
    if (wanted < 0 || static_cast<std::size_t>(wanted) >= made_.size() || !made_[static_cast<std::size_t>(wanted)]) {
      broken("tensor " + std::to_string(wanted) + " is used before it is made");
    }
    return wanted;
  }

  Values values(const json& all, int depth) const {
    Values read;
    for (const json& one : list(all, "`args`")) read.push_back(value(one, depth + 1));
    return read;
  }

  Value value(const json& one, int depth) const {
    if (depth > kDeepest) broken("lists are nested too deeply");
    if (one.is_null()) return {Nothing{}};
    if (one.is_boolean()) return {one.get<bool>()};
    if (one.is_number_float()) return {one.get<double>()};
    if (one.is_number()) return {whole(one)};
    if (one.is_string()) return {one.get<std::string>()};
    if (one.is_array()) return {values(one, depth)};
    return object_value(one);
  }

  Value object_value(const json& one) const {
    if (one.size() != 1) broken("an argument of an unknown kind");
    const auto only = one.begin();  // not items().begin(): the range it points into would be gone
    const std::string& key = only.key();
    const json& inner = only.value();
    if (key == "t") return {TensorRef{used(inner)}};
    if (key == "gradient") return {GradientRef{used(inner)}};
    if (key == "batch") return {whole(one)};
    if (key == "generator") return {Nothing{}};
    if (key == "complex") return {complex(inner)};
    if (key == "nan") return {std::numeric_limits<double>::quiet_NaN()};
    if (key == "inf") return {(number(inner) < 0 ? -1 : 1) * std::numeric_limits<double>::infinity()};
    for (std::size_t at = 0; at < kNamed.size(); ++at) {
      if (key == kNamed[at] && inner.is_string()) return {NamedValue{static_cast<Named>(at), inner.get<std::string>()}};
    }
    broken("an argument of an unknown kind: `" + key + "`");
  }

  static Complex complex(const json& parts) {
    if (!parts.is_array() || parts.size() != 2 || !parts[0].is_number() || !parts[1].is_number()) broken("a complex number has two parts");
    return {parts[0].get<double>(), parts[1].get<double>()};
  }

  const json& document_;
  Program program_;
  std::vector<bool> made_;  // by id
};

}  // namespace

std::optional<std::int64_t> Whole::at(std::int64_t batch) const {
  std::int64_t slope = 0, product = 0, sum = 0;  // (square × batch + numerator) × batch + offset
  if (__builtin_mul_overflow(square, batch, &slope) || __builtin_add_overflow(slope, numerator, &slope) ||
      __builtin_mul_overflow(slope, batch, &product) || __builtin_add_overflow(offset, product, &sum))
    return std::nullopt;
  if (sum % denominator != 0) return std::nullopt;
  return sum / denominator;
}

Result<Program> decode(const json& document) {
  try {
    return Decoder(document).run();
  } catch (const Broken& reason) {
    return std::unexpected(Error{ErrorCode::malformed, "The recorded program cannot be replayed: " + reason.what + ".", {}});
  } catch (const json::exception& reason) {
    return std::unexpected(Error{ErrorCode::malformed, std::string("The recorded program is broken: ") + reason.what(), {}});
  }
}

}  // namespace hotlens::lab
