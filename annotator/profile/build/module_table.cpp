#include "annotator/profile/build/module_table.h"

#include <algorithm>
#include <ranges>

#include "annotator/profile/build/module_name.h"

namespace hotlens::profile {

using attribution::kNothing;

namespace {

// By module: the position of its first call, its children's included; modules that never ran come last in their own order.
std::vector<std::size_t> first_calls(const attribution::Chains& calls, const std::vector<Module>& modules) {
  std::vector<std::size_t> first(modules.size());
  std::ranges::copy(std::views::iota(calls.value.size(), calls.value.size() + modules.size()), first.begin());
  for (std::size_t link = calls.value.size(); link-- > 0;) {
    if (!calls.again[link] && calls.value[link] < first.size()) first[calls.value[link]] = link;
  }
  for (std::size_t module = modules.size(); module-- > 0;) {
    const ModuleId parent = modules[module].parent;
    if (parent.valid()) first[parent.index] = std::min(first[parent.index], first[module]);
  }
  return first;
}

}  // namespace

std::vector<Module> recorded_modules(const Annotated& annotated) {
  std::vector<Module> modules;
  std::vector<ModuleName> names = names_of_modules(annotated);
  for (const attribution::CalledModule& called : annotated.called) {
    const ModelModule& entry = annotated.model->modules[called.module];
    const bool own_place = called.first == modules.size();
    Module module;
    module.path = std::move(names[modules.size()].path);
    module.class_name = entry.class_name;
    if (called.parent != kNothing) module.parent = ModuleId{called.parent};
    if (!own_place) module.same_as = ModuleId{called.first};
    if (own_place) {
      module.memory.parameters = entry.parameters;
      module.memory.gradients = entry.gradients;
      module.memory.optimizer = entry.optimizer;
    }
    module.how = How::recorded;
    module.attached = entry.attached;
    module.constructed = entry.constructed;
    module.class_site = entry.class_site;
    modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<Module> found_modules(const std::vector<attribution::FoundModule>& found, How how, std::vector<Issue>& warnings) {
  std::vector<Module> modules;
  std::vector<std::string> paths = attribution::paths_of(found);
  std::int64_t shortened = 0;
  for (const attribution::FoundModule& entry : found) {
    Module module;
    module.path = std::move(paths[modules.size()]);
    shortened += module.path.starts_with("…/") || !module.path.ends_with(entry.name);
    if (how == How::frames) module.class_name = class_of_instance(entry.name);
    if (entry.parent != kNothing) module.parent = ModuleId{entry.parent};
    if (entry.first != modules.size()) module.same_as = ModuleId{entry.first};
    module.how = how;
    modules.push_back(std::move(module));
  }
  if (shortened > 0) warnings.push_back({"long-paths", "the paths of some modules are too long to be shown and were shortened", shortened});
  return modules;
}

std::vector<std::uint32_t> sort_modules(std::vector<Module>& modules, const attribution::Chains& calls) {
  const std::vector<std::size_t> first = first_calls(calls, modules);
  std::vector<std::vector<std::uint32_t>> children(modules.size() + 1);
  for (std::uint32_t module = 0; module < modules.size(); ++module) {
    children[modules[module].parent.valid() ? modules[module].parent.index : modules.size()].push_back(module);
  }
  for (auto& siblings : children) {
    std::ranges::stable_sort(siblings, {}, [&](std::uint32_t module) { return first[module]; });
  }
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> open(children.back().rbegin(), children.back().rend());
  while (!open.empty()) {
    const std::uint32_t module = open.back();
    open.pop_back();
    order.push_back(module);
    open.insert(open.end(), children[module].rbegin(), children[module].rend());
  }
  std::vector<std::uint32_t> position(modules.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) position[order[at]] = at;
  std::vector<Module> sorted;
  sorted.reserve(order.size());
  for (const std::uint32_t module : order) {
    sorted.push_back(std::move(modules[module]));
    Module& moved = sorted.back();
    if (moved.same_as.valid()) moved.same_as = ModuleId{position[moved.same_as.index]};
    if (!moved.parent.valid()) continue;
    moved.parent = ModuleId{position[moved.parent.index]};
    sorted[moved.parent.index].children.push_back(ModuleId{static_cast<std::uint32_t>(sorted.size() - 1)});
  }
  modules = std::move(sorted);
  return position;
}

}  // namespace hotlens::profile
