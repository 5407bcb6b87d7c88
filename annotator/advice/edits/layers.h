// Edits of the calls that make layers of torch.nn, told by the places where the profile's modules were made.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "annotator/advice/edits/script.h"

namespace hotlens::advice {

// Of one call; no `edit`: it is so already. `needs`: a name that the file may not import.
struct Offered {
  std::optional<Replacement> edit;
  std::string needs = {};
};
using LayerEdit = std::expected<Offered, std::string>;
using OneLayer = LayerEdit (*)(const PythonText&, const Call&);

// What becomes of other layers that the same call makes.
enum class Others : std::uint8_t { change_too, stay };

// Of the modules at these paths, each of one of the classes and made by one call.
Made edit_layers(const Script& script, std::span<const std::string> paths, std::span<const std::string_view> classes, OneLayer edit,
                 Others others = Others::change_too);

}  // namespace hotlens::advice
