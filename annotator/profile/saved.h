// What the forward pass keeps until the backward pass, as autograd's nodes have saved it (annotator/recorder/FORMAT.md, saved.json).
//
// The sum over all storages is what hooks on saved tensors see, each storage once. A storage that several nodes keep is one storage here;
// its bytes count for the first of its modules in the order of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

enum class SavedKind : std::uint8_t { activation, input, parameter, buffer };
constexpr std::size_t kSavedKinds = 4;
std::string_view name(SavedKind kind);

struct SavedTensors {
  struct Place {
    FileId file;
    std::uint32_t line = 0;
  };
  // Nodes of one name that one module and line have made.
  struct Saver {
    std::string node;            // "ReluBackward0"
    ModuleId module;             // invalid: made by the loop itself
    std::optional<Place> place;  // the innermost line of the script, or of a module's class, that was being executed
  };
  struct Use {
    std::uint32_t saver = 0;
    std::string as;             // "result"
    std::int64_t elements = 0;  // of the largest tensor that is saved so
  };
  // Equal ones are one row.
  struct Storage {
    SavedKind kind = SavedKind::activation;
    std::string device;
    Bytes bytes{};           // of one
    std::int64_t count = 1;  // how many
    std::vector<Use> by;     // never empty
  };
  struct Hooked {
    std::uint32_t saver = 0;
    std::int64_t count = 0;
  };
  struct Opaque {
    std::string node;
    std::int64_t count = 0;
  };

  std::string refused;                // why nothing else is here; empty where it is
  std::int64_t pass = 1, passes = 1;  // which backward pass of the step this is of, the one that keeps most
  std::vector<Saver> savers;
  std::vector<Storage> storages;
  std::vector<Hooked> hooked;   // nodes whose tensors hooks of the script's hold (checkpointing, save_on_cpu)
  std::vector<Opaque> opaque;   // nodes that do not show what they save
  std::int64_t unreadable = 0;  // saved tensors
};

Bytes whole(const SavedTensors::Storage& storage);  // of all that are alike
Bytes total(const SavedTensors& saved);
// What of it the backward pass could do with, where that is certain: a mask of one bit for what only says where something was cut off or
// dropped. All of it otherwise.
Bytes needed(const Profile& profile, const SavedTensors::Storage& storage);
// The first module, in the order of the step, that keeps it; its bytes count there. Of several nodes of that module the first.
std::uint32_t counted_at(const SavedTensors& saved, const SavedTensors::Storage& storage);

// The activations that some modules and all below them keep, each once.
struct HeldUntilBackward {
  Bytes bytes{}, needed{};
  std::optional<ModuleId> shared_with;  // a module beside them that keeps most of the same
};
HeldUntilBackward held_until_backward(const Profile& profile, std::span<const ModuleId> modules);

}  // namespace hotlens::profile
