// Sums of what is kept until the backward pass.
#include "annotator/profile/saved.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace hotlens::profile {
namespace {

using Storage = SavedTensors::Storage;
using Use = SavedTensors::Use;

struct Rule {
  std::string_view node, as;
};

// Saved whole, but the backward pass only asks on which side of a threshold each element is, or whether it was kept.
constexpr std::array kMasks = {
    Rule{"ReluBackward0", "result"},           Rule{"ThresholdBackward0", "self"},  Rule{"HardtanhBackward0", "self"},
    Rule{"HardtanhBackward1", "result"},       Rule{"LeakyReluBackward0", "self"},  Rule{"LeakyReluBackward1", "result"},
    Rule{"HardsigmoidBackward0", "self"},      Rule{"MaskedFillBackward0", "mask"}, Rule{"MaskedFillBackward1", "mask"},
    Rule{"NativeDropoutBackward0", "result1"}, Rule{"WhereBackward0", "condition"},
};

// The layers of torch whose product is that of their input and a mask of zeros and one other number.
bool is_dropout(const Profile& profile, ModuleId module) {
  constexpr std::array<std::string_view, 4> kClasses = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d"};
  return module.valid() && std::ranges::find(kClasses, profile.at(module).class_name) != kClasses.end();
}

bool is_mask(const Profile& profile, const Use& use) {
  const SavedTensors::Saver& saver = profile.saved->savers[use.saver];
  if (saver.node == "MulBackward0" && use.as == "other") return is_dropout(profile, saver.module);
  return std::ranges::any_of(kMasks, [&](const Rule& rule) { return rule.node == saver.node && rule.as == use.as; });
}

// What a module's row is a repetition of.
ModuleId itself(const Profile& profile, ModuleId module) {
  return profile.at(module).same_as.valid() ? profile.at(module).same_as : module;
}

// Whether a module is one of these or below one.
std::vector<bool> below(const Profile& profile, std::span<const ModuleId> modules) {
  std::vector<bool> inside(profile.modules.size());
  for (const ModuleId module : modules) inside[itself(profile, module).index] = true;
  for (std::size_t at = 0; at < profile.modules.size(); ++at) {  // parents come first
    const ModuleId parent = profile.modules[at].parent;
    if (parent.valid() && inside[parent.index]) inside[at] = true;
  }
  return inside;
}

}  // namespace

std::string_view name(SavedKind kind) {
  constexpr std::array<std::string_view, kSavedKinds> kNames = {"activations", "inputs", "parameters", "buffers"};
  return kNames[static_cast<std::size_t>(kind)];
}

Bytes whole(const Storage& storage) {
  return Bytes{count(storage.bytes) * storage.count};
}

Bytes total(const SavedTensors& saved) {
  Bytes sum{};
  for (const Storage& storage : saved.storages) sum = sum + whole(storage);
  return sum;
}

Bytes needed(const Profile& profile, const Storage& storage) {
  constexpr std::int64_t kBits = 8;
  std::int64_t most = 0;
  for (const Use& use : storage.by) {
    if (!is_mask(profile, use)) return whole(storage);
    most = std::max(most, use.elements / kBits + (use.elements % kBits != 0));
  }
  return Bytes{std::min(most, count(storage.bytes)) * storage.count};
}

std::uint32_t counted_at(const SavedTensors& saved, const Storage& storage) {
  const auto order = [&](const Use& use) { return std::pair(saved.savers[use.saver].module, use.saver); };  // no module: the last
  return std::ranges::min_element(storage.by, {}, order)->saver;
}

HeldUntilBackward held_until_backward(const Profile& profile, std::span<const ModuleId> modules) {
  HeldUntilBackward held;
  if (!profile.saved) return held;
  const std::vector<bool> inside = below(profile, modules);
  std::map<ModuleId, std::int64_t> others;
  for (const Storage& storage : profile.saved->storages) {
    const auto is_inside = [&](const Use& use) {
      const ModuleId module = profile.saved->savers[use.saver].module;
      return module.valid() && inside[module.index];
    };
    if (storage.kind != SavedKind::activation || std::ranges::none_of(storage.by, is_inside)) continue;
    held.bytes = held.bytes + whole(storage);
    held.needed = held.needed + needed(profile, storage);
    for (const Use& use : storage.by) {
      const ModuleId module = profile.saved->savers[use.saver].module;
      if (module.valid() && !inside[module.index]) others[module] += count(whole(storage));
    }
  }
  const auto most = std::ranges::max_element(others, {}, [](const auto& other) { return other.second; });
  if (most != others.end()) held.shared_with = most->first;
  return held;
}

}  // namespace hotlens::profile
