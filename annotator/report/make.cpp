#include "annotator/report/make.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "annotator/common/format.h"

namespace hotlens::report {
namespace {

constexpr std::size_t kMostSizes = 3;
constexpr std::size_t kMostOperators = 3;

using Sizes = std::map<std::pair<std::string, std::string>, std::int64_t>;

void add(Sizes& sizes, const profile::Profile& profile, const profile::Module& module, std::int64_t sign) {
  for (const profile::CostUse& use : module.forward_costs.uses) {
    const profile::OperatorCost& of = profile.costs.operators[use.at];
    sizes[{of.name, of.shapes}] += sign * use.calls;
  }
}

Sizes own_sizes(const profile::Profile& profile, const profile::Module& module) {
  Sizes sizes;
  add(sizes, profile, module, 1);
  for (const profile::ModuleId child : module.children) add(sizes, profile, profile.at(child), -1);
  std::erase_if(sizes, [](const auto& each) { return each.second == 0; });
  return sizes;
}

std::map<std::string, std::int64_t> by_name(const Sizes& sizes) {
  std::map<std::string, std::int64_t> names;
  for (const auto& [key, calls] : sizes) names[key.first] += calls;
  return names;
}

std::optional<Bytes> own_parameters(const profile::Profile& profile, const profile::Module& module) {
  if (!module.memory.parameters) return std::nullopt;
  std::int64_t own = count(*module.memory.parameters);
  for (const profile::ModuleId child : module.children) own -= count(profile.at(child).memory.parameters.value_or(Bytes{}));
  return Bytes{own};
}

template <class T>
void keep_equal(std::optional<T>& mine, const std::optional<T>& other) {
  if (mine != other) mine.reset();
}

std::vector<std::string> numbers(const std::string& text) {
  std::vector<std::string> found;
  bool inside = false;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !inside) found.emplace_back();
    if (digit) found.back() += c;
    inside = digit;
  }
  return found;
}

// The keys that one side alone has, in their order.
std::vector<std::pair<std::string, std::string>> only_in(const Sizes& sizes, const Sizes& other) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const auto& [key, calls] : sizes) {
    if (!other.contains(key)) keys.push_back(key);
  }
  return keys;
}

// What became of each number of the shapes, each pair once: "512 → 576".
std::vector<std::string> changed_sizes(const Sizes& before, const Sizes& after) {
  const auto old_keys = only_in(before, after), new_keys = only_in(after, before);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < std::min(old_keys.size(), new_keys.size()); ++at) {
    const auto was = numbers(old_keys[at].second), is = numbers(new_keys[at].second);
    if (old_keys[at].first != new_keys[at].first || was.size() != is.size()) continue;
    for (std::size_t number = 0; number < was.size(); ++number) {
      std::string text = was[number] + " → " + is[number];
      if (was[number] != is[number] && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
  }
  if (texts.size() > kMostSizes) texts.clear();  // says nothing any more
  return texts;
}

std::string names(const std::map<std::string, std::int64_t>& of, const std::map<std::string, std::int64_t>& other) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, calls] : of) {
    const auto twin = other.find(name);
    if (twin != other.end() && twin->second == calls) continue;
    if (++shown > kMostOperators) return text + ", …";
    text += (text.empty() ? "" : ", ") + name + (calls > 1 ? fmt::format(" ×{}", calls) : "");
  }
  return text.empty() ? "none" : text;
}

template <class T>
bool differ(const std::optional<T>& before, const std::optional<T>& after) {
  return before && after && *before != *after;
}

}  // namespace

void Make::agree(const Make& other) {
  keep_equal(class_name, other.class_name);
  keep_equal(parameters, other.parameters);
  keep_equal(calls, other.calls);
  keep_equal(operators, other.operators);
}

Make make_of(const profile::Profile& profile, profile::ModuleId id, bool comparable) {
  const profile::Module& module = profile.at(id);
  Make make{.class_name = module.class_name, .parameters = own_parameters(profile, module), .calls = {}, .operators = {}, .sizes = {}};
  if (!comparable) return make;
  make.calls = module.calls;
  make.sizes = own_sizes(profile, module);
  if (!profile.costs.operators.empty()) make.operators = by_name(make.sizes);
  return make;
}

std::vector<std::string> changes(const Make& before, const Make& after) {
  std::vector<std::string> texts;
  if (differ(before.class_name, after.class_name)) texts.push_back(*before.class_name + " → " + *after.class_name);
  if (differ(before.parameters, after.parameters)) {
    for (std::string& text : changed_sizes(before.sizes, after.sizes)) texts.push_back(std::move(text));
    texts.push_back("parameters " + format::readable(*before.parameters) + " → " + format::readable(*after.parameters));
  }
  if (differ(before.calls, after.calls)) texts.push_back(fmt::format("{} → {} calls", *before.calls, *after.calls));
  if (differ(before.operators, after.operators) && !differ(before.calls, after.calls)) {
    texts.push_back("operators " + names(*before.operators, *after.operators) + " → " + names(*after.operators, *before.operators));
  }
  return texts;
}

}  // namespace hotlens::report
