#include "annotator/lab/worker/arguments.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>
#include <c10/core/DeviceType.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <utility>

namespace hotlens::lab {
namespace {

using c10::IValue;
using c10::TypeKind;

template <class T>
const T* as(const Value& value) {
  return std::get_if<T>(&value.is);
}

class Converter {
 public:
  Converter(const Bindings& bindings, const c10::Argument& argument) : bindings_(bindings), argument_(argument) {}

  IValue convert(const Value& value) const { return to(value, argument_.type()); }

 private:
  [[noreturn]] void refuse(const c10::TypePtr& type) const {
    TORCH_CHECK(false, "argument `", argument_.name(), "` is recorded as something else than ", type->repr_str());
  }

  IValue to(const Value& value, const c10::TypePtr& type) const {
    if (const auto* optional = type->castRaw<c10::OptionalType>()) {
      return as<Nothing>(value) != nullptr ? IValue() : to(value, optional->getElementType());
    }
    if (const auto* list = type->castRaw<c10::ListType>()) return to_list(value, list->getElementType());
    if (const auto* named = as<NamedValue>(value)) return to_named(*named);
    switch (type->kind()) {
      case TypeKind::TensorType:
        return to_tensor(value);
      case TypeKind::NumberType:
      case TypeKind::FloatType:
        return to_number(value, type);
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return to_integer(value, type);
      case TypeKind::BoolType:
        if (const auto* known = as<bool>(value)) return *known;
        if (const auto* whole = as<Whole>(value)) return bindings_.whole(*whole) != 0;
        refuse(type);
      case TypeKind::StringType:
        if (const auto* text = as<std::string>(value)) return *text;
        refuse(type);
      case TypeKind::DeviceObjType:
        if (const auto* text = as<std::string>(value)) return c10::Device(*text);
        refuse(type);
      default:
        if (as<Nothing>(value) != nullptr) return {};
        refuse(type);
    }
  }

  // A number where the schema says Tensor is what Python makes of it: a tensor that takes no part in the choice of dtypes.
  IValue to_tensor(const Value& value) const {
    if (as<Nothing>(value) != nullptr) return at::Tensor();
    if (const auto* tensor = as<TensorRef>(value)) return bindings_.tensor(tensor->id);
    if (const auto* gradient = as<GradientRef>(value)) return bindings_.tensor(gradient->of).grad();
    return at::native::wrapped_scalar_tensor(to_number(value, c10::NumberType::get()).toScalar());
  }

  IValue to_number(const Value& value, const c10::TypePtr& type) const {
    const bool real = type->kind() == TypeKind::FloatType;
    if (const auto* number = as<double>(value)) return *number;
    if (const auto* number = as<Complex>(value); number != nullptr && !real) return c10::complex<double>(number->real, number->imaginary);
    if (const auto* known = as<bool>(value)) return real ? IValue(*known ? 1.0 : 0.0) : IValue(*known);
    if (const auto* tensor = as<TensorRef>(value)) return real ? IValue(item(*tensor).toDouble()) : IValue(item(*tensor));
    const auto* whole = as<Whole>(value);
    if (whole == nullptr) refuse(type);
    const std::int64_t number = bindings_.whole(*whole);
    return real ? IValue(static_cast<double>(number)) : IValue(number);
  }

  IValue to_integer(const Value& value, const c10::TypePtr& type) const {
    if (const auto* whole = as<Whole>(value)) return bindings_.whole(*whole);
    if (const auto* known = as<bool>(value)) return std::int64_t{*known};
    if (const auto* tensor = as<TensorRef>(value)) return item(*tensor).toLong();
    refuse(type);
  }

  c10::Scalar item(const TensorRef& tensor) const { return bindings_.tensor(tensor.id).item(); }

  // dtype, layout and memory format are numbers to the dispatcher.
  static IValue to_named(const NamedValue& named) {
    switch (named.kind) {
      case Named::dtype:
        return static_cast<std::int64_t>(dtype_named(named.name));
      case Named::device:
        return c10::Device(named.name);
      case Named::layout:
        TORCH_CHECK(named.name == "strided", "layout ", named.name, " is not replayed");
        return static_cast<std::int64_t>(c10::Layout::Strided);
      case Named::memory_format:
        return static_cast<std::int64_t>(memory_format(named.name));
    }
    return {};
  }

  static c10::MemoryFormat memory_format(const std::string& name) {
    static constexpr std::array<std::pair<const char*, c10::MemoryFormat>, 4> kFormats{
        {{"contiguous_format", c10::MemoryFormat::Contiguous},
         {"preserve_format", c10::MemoryFormat::Preserve},
         {"channels_last", c10::MemoryFormat::ChannelsLast},
         {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d}}};
    for (const auto& [known, format] : kFormats) {
      if (name == known) return format;
    }
    TORCH_CHECK(false, "memory format ", name, " is not known");
  }

  // One number where the schema has a list of a known length stands for all of them.
  IValue to_list(const Value& value, const c10::TypePtr& element) const {
    const auto* values = as<Values>(value);
    if (values == nullptr && !argument_.N()) refuse(argument_.type());
    c10::impl::GenericList list(element);
    const std::size_t size = values != nullptr ? values->size() : static_cast<std::size_t>(*argument_.N());
    list.reserve(size);
    for (std::size_t at = 0; at < size; ++at) list.push_back(to(values != nullptr ? (*values)[at] : value, element));
    return typed(std::move(list), element);
  }

  // Kernels ask for lists by the type of their elements.
  static IValue typed(c10::impl::GenericList list, const c10::TypePtr& element) {
    switch (element->kind()) {
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return c10::impl::toTypedList<std::int64_t>(std::move(list));
      case TypeKind::FloatType:
        return c10::impl::toTypedList<double>(std::move(list));
      case TypeKind::BoolType:
        return c10::impl::toTypedList<bool>(std::move(list));
      case TypeKind::TensorType:
        return c10::impl::toTypedList<at::Tensor>(std::move(list));
      default:
        return IValue(std::move(list));
    }
  }

  const Bindings& bindings_;
  const c10::Argument& argument_;
};

void collect(const IValue& value, std::vector<at::Tensor>& to) {
  if (value.isTensor()) {
    to.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& one : value.toListRef()) collect(one, to);
  } else {
    to.emplace_back();
  }
}

const Value* named(const Operator& op, const std::string& name) {
  for (const auto& [key, value] : op.kwargs) {
    if (key == name) return &value;
  }
  return nullptr;
}

// What torch.nn.RNNBase checks in Python (torch/nn/modules/rnn.py, check_input): some kernels read past the end of a row without it.
void check_recurrent(const Operator& op, const std::vector<IValue>& given) {
  const std::size_t weights = op.overload == "data" ? 3 : 2;
  if (!is_recurrent(op) || given.size() <= weights || !given[0].isTensor() || !given[weights].isTensorList()) return;
  const at::Tensor input = given[0].toTensor();
  const auto all = given[weights].toTensorVector();
  if (!input.defined() || input.dim() == 0 || all.empty() || all[0].dim() != 2) return;
  TORCH_CHECK(input.size(-1) == all[0].size(1), "input.size(-1) must be equal to input_size. Expected ", all[0].size(1), ", got ",
              input.size(-1));
}

}  // namespace

at::Tensor Bindings::tensor(TensorId id) const {
  at::Tensor found = tensors.at(static_cast<std::size_t>(id));
  if (const auto gradient = gradient_of.find(id); !found.defined() && gradient != gradient_of.end()) {
    found = tensors.at(static_cast<std::size_t>(gradient->second)).grad();
  }
  TORCH_CHECK(found.defined(), "tensor ", id, " is not there any more");
  return found;
}

std::int64_t Bindings::whole(const Whole& number) const {
  const auto known = number.at(batch);
  TORCH_CHECK(known.has_value(), "a number that follows the batch size, (", number.offset, " + batch * ", number.numerator, " + batch^2 * ",
              number.square, ") / ", number.denominator, ", is not whole at ", batch);
  return *known;
}

std::vector<std::int64_t> Bindings::wholes(const std::vector<Whole>& numbers) const {
  std::vector<std::int64_t> known;
  known.reserve(numbers.size());
  for (const Whole& number : numbers) known.push_back(whole(number));
  return known;
}

namespace {

const std::vector<std::pair<std::string, at::ScalarType>>& dtypes() {
  static const std::vector<std::pair<std::string, at::ScalarType>> kTypes{{"float32", at::kFloat},
                                                                          {"float64", at::kDouble},
                                                                          {"float16", at::kHalf},
                                                                          {"bfloat16", at::kBFloat16},
                                                                          {"int64", at::kLong},
                                                                          {"int32", at::kInt},
                                                                          {"int16", at::kShort},
                                                                          {"int8", at::kChar},
                                                                          {"uint8", at::kByte},
                                                                          {"bool", at::kBool},
                                                                          {"complex64", at::kComplexFloat},
                                                                          {"complex128", at::kComplexDouble}};
  return kTypes;
}

}  // namespace

at::ScalarType dtype_named(const std::string& name) {
  for (const auto& [known, type] : dtypes()) {
    if (name == known) return type;
  }
  TORCH_CHECK(false, "dtype ", name, " is not known");
}

std::string name_of(at::ScalarType dtype) {
  for (const auto& [name, type] : dtypes()) {
    if (dtype == type) return name;
  }
  TORCH_CHECK(false, "dtype ", c10::toString(dtype), " is not known");
}

std::vector<IValue> arguments(const Operator& op, const c10::FunctionSchema& schema, const Bindings& bindings) {
  const auto& wanted = schema.arguments();
  TORCH_CHECK(op.args.size() <= wanted.size(), op.args.size(), " arguments are recorded where ", wanted.size(), " are possible");
  std::vector<IValue> stack;
  stack.reserve(wanted.size());
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    const c10::Argument& argument = wanted[at];
    const Value* value = at < op.args.size() ? &op.args[at] : named(op, argument.name());
    if (value != nullptr) {
      stack.push_back(Converter(bindings, argument).convert(*value));
    } else {
      TORCH_CHECK(argument.default_value().has_value(), "argument `", argument.name(), "` is not recorded");
      stack.push_back(*argument.default_value());
    }
  }
  check_recurrent(op, stack);
  return stack;
}

std::vector<at::Tensor> results_in(const std::vector<IValue>& stack) {
  std::vector<at::Tensor> results;
  for (const IValue& value : stack) collect(value, results);
  return results;
}

void expect_as_many(const Operator& op, const c10::FunctionSchema& schema, std::size_t results) {
  const bool list = schema.returns().size() == 1 && schema.returns()[0].type()->kind() == c10::TypeKind::ListType;
  if (list && results != op.out.size())
    throw Unfollowed("it gives another number of tensors now: " + std::to_string(results) + " instead of " + std::to_string(op.out.size()));
}

void set_results(const Operator& op, std::vector<at::Tensor> results, Bindings& bindings) {
  for (std::size_t at = 0; at < op.out.size(); ++at) {
    if (op.out[at] == kNoTensor) continue;
    TORCH_CHECK(at < results.size(), "gives ", results.size(), " results where ", op.out.size(), " are recorded");
    bindings.tensors[static_cast<std::size_t>(op.out[at])] = std::move(results[at]);
  }
}

}  // namespace hotlens::lab
