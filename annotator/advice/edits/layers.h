// Edits of the calls that make layers of torch.nn, told by the places where the profile's modules were made.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The one call that makes a module. With Others::stay it makes none but those at these paths.
std::expected<Found, NoEdit> call_of(const Script& script, const profile::ModelModule& module, std::span<const std::string> paths,
                                     Others others);

// "net" of "net.pool"; empty of "net".
std::string_view holder_of(std::string_view path);

// The names that a class has for layers of a kind, in every module of that class.
template <class Fits>
std::set<std::string> names_of_layers(const Script& script, std::string_view name, const Fits& fits) {
  std::optional<std::set<std::string>> names;
  const std::vector<profile::ModelModule>& modules = script.sources().model.modules;
  for (const profile::ModelModule& holder : modules) {
    if (holder.class_name != name) continue;
    std::set<std::string> own;
    for (const profile::ModelModule& module : modules) {
      const bool child = holder_of(module.path) == holder.path && module.path != holder.path;
      if (child && fits(module)) own.insert(module.path.substr(holder.path.empty() ? 0 : holder.path.size() + 1));
    }
    if (!names) names = own;
    std::erase_if(*names, [&](const std::string& one) { return !own.contains(one); });
  }
  return names.value_or(std::set<std::string>());
}

// Of the modules at these paths, each of one of the classes and made by one call.
Made edit_layers(const Script& script, std::span<const std::string> paths, std::span<const std::string_view> classes, OneLayer edit,
                 Others others = Others::change_too);

}  // namespace hotlens::advice
