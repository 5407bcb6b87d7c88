#include "annotator/trace/exchange.h"

#include <algorithm>
#include <array>

#include "annotator/trace/trace.h"

namespace hotlens::trace {

std::string_view exchange_of(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kBackends = {"nccl:", "gloo:", "mpi:", "ucc:"};
  const auto backend = std::ranges::find_if(kBackends, [&](std::string_view prefix) { return name.starts_with(prefix); });
  return backend == kBackends.end() ? std::string_view() : name.substr(backend->size());
}

std::int64_t elements_in(std::string_view shapes) {
  std::int64_t sum = 0, product = 1, number = 0;
  bool digits = false, sizes = false;  // inside a number; the innermost bracket holds one
  const auto take = [&] {
    if (digits && __builtin_mul_overflow(product, number, &product)) product = kNone;
    sizes |= digits;
    digits = false;
    number = 0;
  };
  for (const char c : shapes) {
    if (c >= '0' && c <= '9') {
      if (__builtin_mul_overflow(number, std::int64_t{10}, &number) || __builtin_add_overflow(number, c - '0', &number)) return kNone;
      digits = true;
      continue;
    }
    take();
    if (product < 0) return kNone;
    if (c == ']' && sizes && __builtin_add_overflow(sum, product, &sum)) return kNone;
    if (c != '[' && c != ']') continue;
    product = 1;
    sizes = false;
  }
  return sum;
}

std::string_view first_text(std::string_view array) {
  const std::size_t begin = array.find('"');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = array.find('"', begin + 1);
  return end == std::string_view::npos ? std::string_view() : array.substr(begin + 1, end - begin - 1);
}

}  // namespace hotlens::trace
