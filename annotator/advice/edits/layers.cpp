#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/layers.h"

namespace hotlens::advice {
namespace {

bool is_zero(std::string_view number) {
  return number.find_first_not_of("0.") == std::string_view::npos;
}

LayerEdit without_dropout(const PythonText& text, const Call& call) {
  const Argument* given = call.named("p");
  if (given == nullptr && !call.given.empty() && call.given[0].name.empty()) given = call.given.data();
  if (given == nullptr) return Offered{appended(call, "p=0.0")};
  const bool is_number = given->kind == "float" || given->kind == "integer";
  if (is_number && is_zero(text.at(given->value))) return Offered{};
  if (is_number) return Offered{Replacement{given->value, "0.0"}};
  return std::unexpected(fmt::format("its probability is an expression: `{}`", text.at(given->value)));
}

LayerEdit relu(const PythonText& text, const Call& call) {
  const std::string_view callee = text.at(call.callee);
  if (!callee.ends_with(".GELU")) return Offered{Replacement{call.whole, "ReLU()"}, "torch.nn.ReLU"};
  const auto begin = static_cast<std::uint32_t>(call.callee.end - std::string_view("GELU").size());
  return Offered{Replacement{{begin, call.whole.end}, "ReLU()"}};
}

// The calls that may make a module, in its file.
struct Makers {
  std::size_t file = 0;  // how many there are: none of them
  const profile::Site* site = nullptr;
  std::vector<const Call*> calls;
};

Makers makers_of(const Script& script, const profile::ModelModule& module) {
  const auto& site = module.constructed ? module.constructed : module.attached;
  Makers found{.file = site ? script.sources().file_of(*site) : script.texts().size(), .site = site ? &*site : nullptr, .calls = {}};
  if (found.file == script.texts().size()) return found;
  const PythonText& text = script.texts()[found.file];
  const auto span = text.span_of(site->line, site->end_line, site->column, site->end_column);
  for (const Call& call : text.calls()) {
    if (span && span->holds(call.whole) && call.what == "torch.nn." + module.class_name) found.calls.push_back(&call);
  }
  return found;
}

// A module that a call may make too, and that is none of these.
const profile::ModelModule* also_made(const Script& script, const Call& call, std::span<const std::string> paths) {
  for (const profile::ModelModule& module : script.sources().model.modules) {
    if (!call.what.ends_with("." + module.class_name) || std::ranges::find(paths, module.path) != paths.end()) continue;
    const Makers makers = makers_of(script, module);
    if (std::ranges::find(makers.calls, &call) != makers.calls.end()) return &module;
  }
  return nullptr;
}

}  // namespace

std::string_view holder_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return path.substr(0, dot == std::string_view::npos ? 0 : dot);
}

std::expected<Found, NoEdit> call_of(const Script& script, const profile::ModelModule& module, std::span<const std::string> paths,
                                     Others others) {
  const std::string& path = module.path;
  const Makers makers = makers_of(script, module);
  if (makers.file == script.texts().size()) return no(fmt::format("`{}` is made in a library", path));
  const std::string where = fmt::format("{}:{}", script.name(makers.file), makers.site->line + 1);
  if (makers.calls.size() != 1) return no(fmt::format("the call that makes `{}` is not certain, at {}", path, where));
  const Call& made = *makers.calls[0];
  if (made.spreads()) return no(fmt::format("arguments of `{}` come from elsewhere, at {}", path, where));
  const profile::ModelModule* other = others == Others::stay ? also_made(script, made, paths) : nullptr;
  if (other != nullptr) return no(fmt::format("`{}`, which must stay, is made where `{}` is, at {}", other->path, path, where));
  return Found{makers.file, &made};
}

Made edit_layers(const Script& script, std::span<const std::string> paths, std::span<const std::string_view> classes, OneLayer edit,
                 Others others) {
  ByPlace edits;  // layers of a loop have one
  std::vector<std::string> needs;
  std::string already;
  for (const std::string& path : paths) {
    const profile::ModelModule* module = script.module(path);
    if (module == nullptr) return no(fmt::format("the layer `{}` is not known", path));
    if (std::ranges::find(classes, module->class_name) == classes.end()) {
      return no(fmt::format("`{}` ({}) does it in its own code", path, module->class_name));
    }
    const auto made = call_of(script, *module, paths, others);
    if (!made) return std::unexpected(made.error());
    const std::string where = script.places({*made});
    auto one = edit(script.texts()[made->file], *made->call);
    if (!one) return no(fmt::format("`{}` at {}: {}", path, where, one.error()));
    if (!one->needs.empty()) needs.push_back(one->needs);
    if (one->edit) edits[made->file].emplace(one->edit->span.begin, *one->edit);
    if (!one->edit) already = fmt::format("`{}` is so already, at {}", path, where);
  }
  if (edits.empty()) return no(std::move(already));
  return listed(std::move(edits), needs);
}

Made no_dropout(const Script& script, std::span<const std::string> paths) {
  constexpr std::array<std::string_view, 6> kDropouts{"Dropout",   "Dropout1d",    "Dropout2d",
                                                      "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"};
  return edit_layers(script, paths, kDropouts, without_dropout);
}

Made gelu_to_relu(const Script& script, std::span<const std::string> paths) {
  constexpr std::array<std::string_view, 1> kGelu{"GELU"};
  return edit_layers(script, paths, kGelu, relu);
}

}  // namespace hotlens::advice
