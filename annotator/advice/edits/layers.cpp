#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

// Nullopt: it is so already. `needs`: a name that the file may not import.
struct Offered {
  std::optional<Replacement> edit;
  std::string needs = {};
};
using One = std::expected<Offered, std::string>;

bool is_zero(std::string_view number) {
  return number.find_first_not_of("0.") == std::string_view::npos;
}

One without_dropout(const PythonText& text, const Call& call) {
  const Argument* given = call.named("p");
  if (given == nullptr && !call.given.empty() && call.given[0].name.empty()) given = call.given.data();
  if (given == nullptr) return Offered{appended(call, "p=0.0")};
  const bool is_number = given->kind == "float" || given->kind == "integer";
  if (is_number && is_zero(text.at(given->value))) return Offered{};
  if (is_number) return Offered{Replacement{given->value, "0.0"}};
  return std::unexpected(fmt::format("its probability is an expression: `{}`", text.at(given->value)));
}

One relu(const PythonText& text, const Call& call) {
  const std::string_view callee = text.at(call.callee);
  if (!callee.ends_with(".GELU")) return Offered{Replacement{call.whole, "ReLU()"}, "torch.nn.ReLU"};
  const auto begin = static_cast<std::uint32_t>(call.callee.end - std::string_view("GELU").size());
  return Offered{Replacement{{begin, call.whole.end}, "ReLU()"}};
}

Made modules(const Script& script, std::span<const std::string> paths, std::span<const std::string_view> classes,
             One (*edit)(const PythonText&, const Call&)) {
  ByPlace edits;  // layers of a loop have one
  std::vector<std::string> needs;
  std::string already;
  for (const std::string& path : paths) {
    const auto module = std::ranges::find(script.sources().model.modules, path, &profile::ModelModule::path);
    if (module == script.sources().model.modules.end()) return no(fmt::format("the layer `{}` is not known", path));
    const auto& site = module->constructed ? module->constructed : module->attached;
    const std::size_t file = site ? script.sources().file_of(*site) : script.texts().size();
    if (std::ranges::find(classes, module->class_name) == classes.end()) {
      return no(fmt::format("`{}` ({}) does it in its own code", path, module->class_name));
    }
    if (file == script.texts().size()) return no(fmt::format("`{}` is made in a library", path));
    const PythonText& text = script.texts()[file];
    const auto span = text.span_of(site->line, site->end_line, site->column, site->end_column);
    std::vector<const Call*> made;
    for (const Call& call : text.calls()) {
      if (span && span->holds(call.whole) && call.what == "torch.nn." + module->class_name) made.push_back(&call);
    }
    const std::string where = fmt::format("{}:{}", script.name(file), site->line + 1);
    if (made.size() != 1) return no(fmt::format("the call that makes `{}` is not certain, at {}", path, where));
    if (made[0]->spreads()) return no(fmt::format("arguments of `{}` come from elsewhere, at {}", path, where));
    auto one = edit(text, *made[0]);
    if (!one) return no(fmt::format("`{}` at {}: {}", path, where, one.error()));
    if (!one->needs.empty()) needs.push_back(one->needs);
    if (one->edit) edits[file].emplace(one->edit->span.begin, *one->edit);
    if (!one->edit) already = fmt::format("`{}` is so already, at {}", path, where);
  }
  if (edits.empty()) return no(std::move(already));
  return listed(std::move(edits), needs);
}

}  // namespace

Made no_dropout(const Script& script, std::span<const std::string> paths) {
  constexpr std::array<std::string_view, 6> kDropouts{"Dropout",   "Dropout1d",    "Dropout2d",
                                                      "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"};
  return modules(script, paths, kDropouts, without_dropout);
}

Made gelu_to_relu(const Script& script, std::span<const std::string> paths) {
  constexpr std::array<std::string_view, 1> kGelu{"GELU"};
  return modules(script, paths, kGelu, relu);
}

}  // namespace hotlens::advice
