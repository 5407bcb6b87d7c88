#include "annotator/kernels/costs/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "annotator/common/character.h"

namespace hotlens::kernels {
namespace {

constexpr std::size_t kMostSizes = 1 << 14;  // an optimizer is given some hundred tensors
constexpr double kMostElements = 1e15;       // a petabyte and more

// Reads "[[2, 3], [], [[4], [5]]]" from left to right; what is deeper or holds a text ends the reading, and nothing is known then.
std::vector<Argument> read_shapes(std::string_view text) {
  std::vector<Argument> read;
  std::size_t depth = 0, sizes = 0;
  bool list = false;  // the innermost argument is a list of tensors
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[') {
      if (++depth > 3) return {};
      if (depth == 2) {
        read.push_back({.tensors = {Shape{}}});
        list = false;
      } else if (depth == 3 && !list) {
        read.back().tensors.clear();
        list = true;
      }
      if (depth == 3) read.back().tensors.emplace_back();
    } else if (c == ']') {
      if (depth-- == 0) return {};
    } else if (is_digit(c)) {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      if (error != std::errc{} || depth < 2 || ++sizes > kMostSizes) return {};
      read.back().tensors.back().push_back(number);
      at = static_cast<std::size_t>(end - text.data()) - 1;
    } else if (c != ',' && c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      return {};
    }
  }
  return depth == 0 ? read : std::vector<Argument>();
}

// The texts of ["float", "", "[2, 2]"], without quotes; escapes stay as they are.
std::vector<std::string_view> read_texts(std::string_view text) {
  std::vector<std::string_view> read;
  for (std::size_t at = text.find('"'); at != std::string_view::npos && read.size() < kMostSizes; at = text.find('"', at)) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) break;
    read.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return read;
}

constexpr auto kElementBytes = std::to_array<std::pair<std::string_view, int>>({
    {"float", 4},
    {"c10::BFloat16", 2},
    {"c10::Half", 2},
    {"double", 8},
    {"long int", 8},
    {"long", 8},
    {"int", 4},
    {"short", 2},
    {"bool", 1},
    {"unsigned char", 1},
    {"signed char", 1},
    {"c10::Float8_e4m3fn", 1},
    {"c10::Float8_e5m2", 1},
    {"c10::Float8_e4m3fnuz", 1},
    {"c10::Float8_e5m2fnuz", 1},
    {"c10::complex<float>", 8},
    {"c10::complex<double>", 16},
});

int element_bytes(std::string_view type) {
  const auto found = std::ranges::find(kElementBytes, type, &std::pair<std::string_view, int>::first);
  return found == kElementBytes.end() ? 0 : found->second;
}

}  // namespace

std::optional<double> elements(const Shape& shape) {
  double product = 1;
  for (const std::int64_t size : shape) product *= static_cast<double>(size);
  return product <= kMostElements ? std::optional(product) : std::nullopt;
}

Arguments::Arguments(std::string_view shapes, std::string_view types, std::string_view values) : all_(read_shapes(shapes)) {
  const std::vector<std::string_view> type = read_texts(types), value = read_texts(values);
  for (std::size_t at = 0; at < all_.size(); ++at) {
    Argument& argument = all_[at];
    if (at < value.size()) argument.value = value[at];
    if (at < type.size()) {
      argument.type = type[at];
      argument.element_bytes = element_bytes(type[at]);
    }
    // "[]" is a tensor without dimensions where a type says so, else a number, nothing at all, or an empty list.
    const bool bare = argument.tensors.size() == 1 && argument.tensors.front().empty();
    if (bare && argument.element_bytes == 0) argument.tensors.clear();
  }
}

const Shape* Arguments::tensor(std::size_t at) const {
  return at < all_.size() && all_[at].tensors.size() == 1 && all_[at].type != "TensorList" ? &all_[at].tensors.front() : nullptr;
}

std::optional<Shape> Arguments::numbers(std::size_t at) const {
  if (at >= all_.size() || !all_[at].value.starts_with('[')) return std::nullopt;
  Shape read;
  const std::string_view text = all_[at].value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (!is_digit(text[i]) && text[i] != '-') continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (error != std::errc{} || read.size() >= kMostSizes) return std::nullopt;
    read.push_back(number);
    i = static_cast<std::size_t>(end - text.data()) - 1;
  }
  return read;
}

std::optional<std::int64_t> Arguments::integer(std::size_t at) const {
  if (at >= all_.size()) return std::nullopt;
  const std::string_view text = all_[at].value;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<bool> Arguments::truth(std::size_t at) const {
  if (at >= all_.size()) return std::nullopt;
  if (all_[at].value == "True") return true;
  return all_[at].value == "False" ? std::optional(false) : std::nullopt;
}

std::optional<std::vector<bool>> Arguments::truths(std::size_t at) const {
  if (at >= all_.size() || !all_[at].value.starts_with('[')) return std::nullopt;
  std::vector<bool> read;
  for (const char c : all_[at].value) {
    if (c == 'T' || c == 'F') read.push_back(c == 'T');
  }
  return read;
}

}  // namespace hotlens::kernels
