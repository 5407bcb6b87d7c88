#include "annotator/report/match.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_map>

namespace hotlens::report {
namespace {

// Attribute names under which wrappers of torch (DataParallel, compile, FSDP, checkpoint) keep what they wrap.
constexpr std::array<std::string_view, 5> kWrapperNames = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
                                                           "_forward_module"};
constexpr std::array<std::string_view, 5> kWrapperClasses = {"DistributedDataParallel", "DataParallel", "OptimizedModule",
                                                             "FullyShardedDataParallel", "CheckpointWrapper"};

using Keys = std::vector<std::string>;  // by module

Keys paths(const profile::Profile& profile) {
  Keys keys;
  for (const profile::Module& module : profile.modules) keys.push_back(module.path);
  return keys;
}

Keys bare_paths(const profile::Profile& profile) {
  Keys keys;
  for (const profile::Module& module : profile.modules) keys.push_back(without_wrappers(module.path));
  return keys;
}

Keys with_class(Keys keys, const profile::Profile& profile) {
  for (std::size_t at = 0; at < keys.size(); ++at) keys[at].append("\n").append(profile.modules[at].class_name);
  return keys;
}

bool is_transparent(const profile::Module& module) {
  const bool wrapper = std::ranges::find(kWrapperClasses, module.class_name) != kWrapperClasses.end();
  return !module.children.empty() && (wrapper || module.calls == 0);
}

// Parents stand before children, so each key is made from one that is ready.
Keys places(const profile::Profile& profile) {
  Keys keys(profile.modules.size());
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t at = 0; at < keys.size(); ++at) {
    const profile::Module& module = profile.modules[at];
    const std::string& above = module.parent.valid() ? keys[module.parent.index] : std::string();
    if (is_transparent(module)) {
      keys[at] = above;
      continue;
    }
    const std::string unnumbered = above + "/" + module.class_name;
    keys[at] = unnumbered + "#" + std::to_string(seen[unnumbered]++);
  }
  // A transparent module has no place of its own: it pairs with one of its class at the same place.
  for (std::size_t at = 0; at < keys.size(); ++at) {
    if (is_transparent(profile.modules[at])) keys[at] += "/(" + profile.modules[at].class_name + ")";
  }
  return keys;
}

class Matcher {
 public:
  Matcher(const profile::Profile& before, const profile::Profile& after)
      : partner_(after.modules.size()), taken_(before.modules.size(), false) {}

  // Pairs what is still free and has the same key, in order.
  void match(const Keys& before, const Keys& after) {
    std::unordered_map<std::string_view, std::deque<std::uint32_t>> free;
    for (std::uint32_t at = 0; at < before.size(); ++at) {
      if (!taken_[at]) free[before[at]].push_back(at);
    }
    for (std::uint32_t at = 0; at < after.size(); ++at) {
      if (partner_[at].valid()) continue;
      const auto found = free.find(after[at]);
      if (found == free.end() || found->second.empty()) continue;
      partner_[at] = profile::ModuleId{found->second.front()};
      taken_[found->second.front()] = true;
      found->second.pop_front();
    }
  }

  std::vector<ModulePair> pairs() const {
    std::vector<ModulePair> result;
    for (std::uint32_t at = 0; at < partner_.size(); ++at) result.push_back({partner_[at], profile::ModuleId{at}});
    for (std::uint32_t at = 0; at < taken_.size(); ++at) {
      if (!taken_[at]) result.push_back({profile::ModuleId{at}, profile::ModuleId{}});
    }
    return result;
  }

 private:
  std::vector<profile::ModuleId> partner_;  // by module of `after`
  std::vector<bool> taken_;                 // by module of `before`
};

bool knows_only_frames(const profile::Profile& profile) {
  return std::ranges::any_of(profile.modules, [](const profile::Module& module) { return module.how == profile::How::frames; });
}

}  // namespace

std::string without_wrappers(std::string_view path) {
  std::string bare;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    if (std::ranges::find(kWrapperNames, part) != kWrapperNames.end()) continue;
    bare.append(bare.empty() ? "" : ".").append(part);
  }
  return bare;
}

std::vector<ModulePair> match_modules(const profile::Profile& before, const profile::Profile& after) {
  Matcher matcher(before, after);
  if (knows_only_frames(before) || knows_only_frames(after)) {
    matcher.match(places(before), places(after));
    return matcher.pairs();
  }
  const Keys before_paths = paths(before), after_paths = paths(after);
  const Keys before_bare = bare_paths(before), after_bare = bare_paths(after);
  matcher.match(with_class(before_paths, before), with_class(after_paths, after));
  matcher.match(with_class(before_bare, before), with_class(after_bare, after));
  matcher.match(before_paths, after_paths);
  matcher.match(before_bare, after_bare);
  return matcher.pairs();
}

}  // namespace hotlens::report
