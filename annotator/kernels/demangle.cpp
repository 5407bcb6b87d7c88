#include "annotator/kernels/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "annotator/common/character.h"

namespace hotlens::kernels {
namespace {

// The demangler builds its tree on the stack, and each pair of references to earlier parts can double its text: both are bounded here.
constexpr std::size_t kLongestMangled = 1024;
constexpr std::ptrdiff_t kMostReferences = 24;
constexpr std::size_t kLongestWords = 16384;

bool is_tame(std::string_view name) {
  return name.size() <= kLongestMangled && std::ranges::count_if(name, [](char c) { return c == 'S' || c == 'T'; }) <= kMostReferences;
}

struct Free {
  void operator()(char* text) const { std::free(text); }
};

}  // namespace

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  if (!is_tame(name)) return mangled_words(name.substr(0, kLongestWords));
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
  return status == 0 && text ? std::string(text.get()) : std::string(name);
}

std::string mangled_words(std::string_view name) {
  std::string words;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_digit(name[at]) || name[at] == '0') continue;
    std::size_t length = 0;
    std::size_t from = at;
    for (; from < name.size() && is_digit(name[from]) && length < name.size(); ++from)
      length = length * 10 + static_cast<std::size_t>(name[from] - '0');
    if (from + length > name.size() || length == 0) continue;
    const char first = name[from];
    const bool identifier = first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (!identifier) {
      at = from - 1;
      continue;
    }
    words.append(words.empty() ? "" : "::").append(name.substr(from, length));
    at = from + length - 1;
  }
  return words;
}

}  // namespace hotlens::kernels
