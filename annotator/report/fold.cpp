#include "annotator/report/fold.h"

#include <algorithm>
#include <functional>
#include <string>

#include "annotator/profile/build/module_name.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/statistics.h"

namespace hotlens::report {
namespace {

using Group = std::vector<profile::ModuleId>;  // modules of equal build

std::size_t mixed(std::size_t seed, std::size_t value) {
  return seed * 1099511628211ULL + value + 0x9e3779b97f4a7c15ULL;
}

// What a module is: its class; of a range that a person named, the name without its numbers ("block 3" is one of the blocks).
std::string kind_of(const profile::Module& module) {
  if (!module.class_name.empty()) return module.class_name;
  std::string name(profile::last_name(module));
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

class Folder {
 public:
  Folder(const profile::Profile& profile, const FoldOptions& options)
      : profile_(profile), options_(options), build_(profile.modules.size()) {
    for (std::size_t module = profile.modules.size(); module-- > 0;) {
      const profile::Module& row = profile.modules[module];
      std::size_t build = std::hash<std::string>{}(kind_of(row));
      for (const profile::ModuleId child : row.children) build = mixed(build, build_[child.index]);
      build_[module] = mixed(build, row.children.size());
    }
    const bool device = profile.has_device();
    for (const profile::Module& row : profile.modules) {
      forward_.push_back(profile::headline(profile.shown(row.forward), device));
      backward_.push_back(profile::headline(profile.shown(row.backward), device));
    }
    const Ns whole = profile.steps.empty() ? Ns{} : profile::headline_whole(profile);
    smallest_ = Ns{static_cast<std::int64_t>(options.min_share * static_cast<double>(whole.count()))};
  }

  std::vector<Fold> roots() const {
    std::vector<Group> groups;
    for (std::uint32_t module = 0; module < profile_.modules.size(); ++module) {
      if (!profile_.modules[module].parent.valid()) groups.push_back({profile::ModuleId{module}});
    }
    return siblings(groups);
  }

 private:
  std::vector<Fold> siblings(const std::vector<Group>& groups) const {
    std::vector<Fold> rows;
    for (const Group& group : joined(groups)) {
      const Fold row = totals(group);
      const bool small = row.forward + row.backward < smallest_;
      if (!small) {
        rows.push_back(expanded(row));
      } else if (!rows.empty() && rows.back().kind == Fold::Kind::small) {
        add(rows.back(), group);
      } else {
        rows.push_back(row);
        rows.back().kind = Fold::Kind::small;
      }
    }
    // A single small module is no neighbourhood: its own row takes no more room.
    for (Fold& row : rows) {
      if (row.modules.size() == 1) row.kind = Fold::Kind::modules;
    }
    return rows;
  }

  // Runs of groups of equal build as one group each.
  std::vector<Group> joined(const std::vector<Group>& groups) const {
    std::vector<Group> result;
    for (const Group& group : groups) {
      if (options_.equal && !result.empty() && build_[result.back().front().index] == build_[group.front().index]) {
        result.back().insert(result.back().end(), group.begin(), group.end());
      } else {
        result.push_back(group);
      }
    }
    return result;
  }

  Fold totals(const Group& group) const {
    Fold row;
    add(row, group);
    return row;
  }

  void add(Fold& row, const Group& group) const {
    row.modules.insert(row.modules.end(), group.begin(), group.end());
    for (const profile::ModuleId id : group) {
      row.forward += forward_[id.index];
      row.backward += backward_[id.index];
      row.calls += profile_.at(id).calls;
    }
    std::vector<Ns> times;
    for (const profile::ModuleId id : row.modules) times.push_back(forward_[id.index] + backward_[id.index]);
    row.least = std::ranges::min(times);
    row.most = std::ranges::max(times);
    row.middle = profile::median(std::move(times));
  }

  Fold expanded(Fold row) const {
    std::vector<Group> children = children_of(row.modules);
    while (options_.lift && children.size() == 1) {
      Fold only = totals(children.front());
      const auto held = static_cast<double>((only.forward + only.backward).count());
      if (held < options_.dominant * static_cast<double>((row.forward + row.backward).count())) break;
      only.wrappers = std::move(row.wrappers);
      only.wrappers.push_back(row.modules.front());
      row = std::move(only);
      children = children_of(row.modules);
    }
    row.children = siblings(children);
    return row;
  }

  // Modules of equal build have children of equal build, position by position.
  std::vector<Group> children_of(const Group& group) const {
    std::vector<Group> children(profile_.at(group.front()).children.size());
    for (const profile::ModuleId id : group) {
      const std::vector<profile::ModuleId>& own = profile_.at(id).children;
      for (std::size_t position = 0; position < std::min(own.size(), children.size()); ++position)
        children[position].push_back(own[position]);
    }
    return children;
  }

  const profile::Profile& profile_;
  const FoldOptions& options_;
  std::vector<std::size_t> build_;  // by module: hash of class and children
  std::vector<Ns> forward_, backward_;
  Ns smallest_{};
};

}  // namespace

std::vector<Fold> fold(const profile::Profile& profile, const FoldOptions& options) {
  return Folder(profile, options).roots();
}

}  // namespace hotlens::report
