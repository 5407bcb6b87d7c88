#include "annotator/attribution/owners/modules.h"

#include <algorithm>
#include <map>
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

// By node: whether it runs because of a backward operator.
std::vector<bool> inside_backward(const trace::Trace& trace, const Forest& forest) {
  std::vector<bool> inside(forest.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const bool backward = forest.kind[node] == Kind::op && forest.traits_at(trace, node).backward;
    inside[node] = backward || (forest.parent[node] != kNoNode && inside[forest.parent[node]]);
  }
  return inside;
}

Modules from_markers(const Forest& forest, const ModuleMap& map) {
  Modules modules{.source = ModuleSource::markers, .of = std::vector(forest.size(), kNothing), .found = {}};
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::call || forest.value[node] >= map.module_of_call.size()) continue;
    modules.of[node] = map.module_of_call[forest.value[node]];
  }
  return modules;
}

// The innermost node of `kind` around each node; kNoNode where there is none.
std::vector<std::uint32_t> around(const Forest& forest, Kind kind) {
  std::vector<std::uint32_t> result(forest.size(), kNoNode);
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    const std::uint32_t parent = forest.parent[node];
    if (parent != kNoNode) result[node] = forest.kind[parent] == kind ? parent : result[parent];
  }
  return result;
}

// Adds modules to a tree that is no deeper than kDeepest: what would be deeper stands beside its parent.
class Tree {
 public:
  explicit Tree(std::vector<FoundModule>& found) : found_(found) {}

  void add(std::string_view name, std::uint32_t parent) {
    if (parent != kNothing && depth_[parent] >= kDeepest) parent = found_[parent].parent;
    depth_.push_back(parent == kNothing ? 1 : depth_[parent] + 1);
    found_.push_back({std::string(name), parent});
  }

 private:
  std::vector<FoundModule>& found_;
  std::vector<std::uint32_t> depth_;
};

Modules from_frames(const trace::Trace& trace, const Forest& forest, const std::vector<std::uint32_t>& order) {
  Modules modules{.source = ModuleSource::frames, .of = std::vector(forest.size(), kNothing), .found = {}};
  const std::vector<bool> again = inside_backward(trace, forest);
  const std::vector<std::uint32_t> outer = around(forest, Kind::frame);
  std::unordered_map<std::uint32_t, std::uint32_t> by_name;
  Tree tree(modules.found);
  const auto module_of = [&](std::uint32_t node) {
    const auto [known, fresh] = by_name.try_emplace(forest.value[node], static_cast<std::uint32_t>(modules.found.size()));
    if (fresh) {
      const std::string_view text = trace.names[trace::NameId{forest.value[node]}];
      const std::uint32_t parent = outer[node] == kNoNode ? kNothing : modules.of[outer[node]];
      tree.add(text.substr(kModuleFrame.size()), parent);
    }
    return known->second;
  };
  for (const bool in_backward : {false, true}) {
    for (const std::uint32_t thread : order) {
      for (std::uint32_t node = forest.threads[thread].begin; node < forest.threads[thread].end; ++node) {
        if (forest.kind[node] == Kind::frame && again[node] == in_backward) modules.of[node] = module_of(node);
      }
    }
  }
  return modules;
}

Modules from_ranges(const trace::Trace& trace, const Forest& forest, const std::vector<std::uint32_t>& order) {
  Modules modules{.source = ModuleSource::ranges, .of = std::vector(forest.size(), kNothing), .found = {}};
  const std::vector<bool> again = inside_backward(trace, forest);
  const std::vector<std::uint32_t> outer = around(forest, Kind::range);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_place;  // parent module and name
  std::unordered_map<std::uint32_t, std::uint32_t> by_name;                   // the first of that name
  Tree tree(modules.found);
  const auto module_of = [&](std::uint32_t node) {
    const std::uint32_t parent = outer[node] == kNoNode ? kNothing : modules.of[outer[node]];
    const std::uint32_t name = forest.value[node];
    // A recomputation has lost what was around the module.
    if (again[node] && !by_place.contains({parent, name}) && by_name.contains(name)) return by_name[name];
    const auto [known, fresh] = by_place.try_emplace({parent, name}, static_cast<std::uint32_t>(modules.found.size()));
    if (fresh) tree.add(trace.names[trace::NameId{name}], parent);
    by_name.try_emplace(name, known->second);
    return known->second;
  };
  for (const std::uint32_t thread : order) {
    for (std::uint32_t node = forest.threads[thread].begin; node < forest.threads[thread].end; ++node) {
      if (forest.kind[node] == Kind::range) modules.of[node] = module_of(node);
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
  if (has(forest, Kind::frame)) return from_frames(trace, forest, reading_order(trace, forest, steps));
  if (has(forest, Kind::range)) return from_ranges(trace, forest, reading_order(trace, forest, steps));
  return {.source = ModuleSource::none, .of = std::vector(forest.size(), kNothing), .found = {}};
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
