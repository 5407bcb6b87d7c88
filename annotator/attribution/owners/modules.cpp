#include "annotator/attribution/owners/modules.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hotlens::attribution {
namespace {

constexpr std::string_view kModuleFrame = "nn.Module: ";

// The front of a UTF-8 text, at most `most` bytes, no character halved.
std::string_view cut(std::string_view text, std::size_t most) {
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

Modules from_markers(const Forest& forest, const ModuleMap& map) {
  Modules modules{.source = ModuleSource::markers, .of = std::vector(forest.size(), kNothing), .names = {}};
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::call || forest.value[node] >= map.module_of_call.size()) continue;
    modules.of[node] = map.module_of_call[forest.value[node]];
  }
  return modules;
}

// The nodes of a kind, numbered by the names in their values. `prefix`: what all these names begin with.
Modules from_names(const trace::Trace& trace, const Forest& forest, const std::vector<std::uint32_t>& order, Kind kind,
                   std::string_view prefix) {
  Modules modules{
      .source = kind == Kind::frame ? ModuleSource::frames : ModuleSource::ranges, .of = std::vector(forest.size(), kNothing), .names = {}};
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (const std::uint32_t thread : order) {
    for (std::uint32_t node = forest.threads[thread].begin; node < forest.threads[thread].end; ++node) {
      if (forest.kind[node] != kind) continue;
      const auto [known, fresh] = numbers.try_emplace(forest.value[node], static_cast<std::uint32_t>(modules.names.size()));
      if (fresh) modules.names.emplace_back(trace.names[trace::NameId{forest.value[node]}].substr(prefix.size()));
      modules.of[node] = known->second;
    }
  }
  return modules;
}

bool has(const Forest& forest, Kind kind) {
  return std::ranges::find(forest.kind, kind) != forest.kind.end();
}

}  // namespace

Modules find_modules(const trace::Trace& trace, const Forest& forest, const Steps& steps, const ModuleMap* map) {
  if (map) return from_markers(forest, *map);
  if (has(forest, Kind::frame)) return from_names(trace, forest, reading_order(trace, forest, steps), Kind::frame, kModuleFrame);
  if (has(forest, Kind::range)) return from_names(trace, forest, reading_order(trace, forest, steps), Kind::range, "");
  return {.source = ModuleSource::none, .of = std::vector(forest.size(), kNothing), .names = {}};
}

std::vector<std::string> paths_of(const std::vector<FoundModule>& found) {
  constexpr std::size_t kLongest = 1024;  // bytes
  std::vector<std::string> paths;
  for (const FoundModule& module : found) {
    const std::string_view name = module.name.size() <= kLongest ? module.name : cut(module.name, kLongest);
    if (module.parent == kNothing) {
      paths.emplace_back(name);
    } else {
      const bool fits = paths[module.parent].size() + name.size() < kLongest;
      paths.push_back((fits ? paths[module.parent] : std::string("\u2026")) + "/" + std::string(name));
    }
  }
  return paths;
}

std::vector<std::uint32_t> reading_order(const trace::Trace& trace, const Forest& forest, const Steps& steps) {
  const auto first_backward = [&](std::uint32_t thread) {
    for (std::uint32_t node = forest.threads[thread].begin; node < forest.threads[thread].end; ++node) {
      if (forest.kind[node] == Kind::op && forest.traits_at(trace, node).backward) return forest.start[node];
    }
    return Ns::min();
  };
  std::vector<std::pair<Ns, std::uint32_t>> others;
  std::vector<std::uint32_t> order;
  for (std::uint32_t thread = 0; thread < forest.threads.size(); ++thread) {
    if (thread == steps.main) {
      order.push_back(thread);
    } else if (steps.main == kNoNode || forest.threads[thread].process == forest.threads[steps.main].process) {
      others.emplace_back(first_backward(thread), thread);
    }
  }
  std::ranges::sort(others);
  for (const auto& [start, thread] : others) order.push_back(thread);
  return order;
}

}  // namespace hotlens::attribution
