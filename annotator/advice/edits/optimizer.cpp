#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

const Argument* set_to_none(const Call& call) {
  if (const Argument* named = call.named("set_to_none")) return named;
  return call.given.size() == 1 && call.given[0].name.empty() ? call.given.data() : nullptr;
}

std::vector<Found> zero_grads(const Script& script) {
  return script.calls([](const PythonText& text, const Call& call) { return text.at(call.callee).ends_with(".zero_grad"); });
}

// Of calls none of which says set_to_none=False.
std::string why_no_zeros(const Script& script, const std::vector<Found>& all) {
  if (all.empty()) return "none of the files that ran calls zero_grad";
  for (const Found& one : all) {
    const Argument* given = set_to_none(*one.call);
    if (given == nullptr || given->kind == "true") continue;
    const std::string_view value = script.texts()[one.file].at(given->value);
    return fmt::format("`set_to_none` of the zero_grad at {} is an expression: `{}`", script.places({one}), value);
  }
  return "zero_grad sets gradients to None already, at " + script.places(all);
}

}  // namespace

Made optimizer(const Script& script, std::string_view option) {
  const auto found = script.optimizer_call();
  if (!found) return std::unexpected(found.error());
  const Call& call = *found->call;
  const PythonText& text = script.texts()[found->file];
  if (call.spreads()) return no("options of the optimizer come from elsewhere, at " + script.place(found->file, call.whole.begin));
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    if (script.texts()[file].has_string(option)) {
      return no(fmt::format("\"{}\" is also set or read by name, in {}", option, script.name(file)));
    }
  }
  const std::string keyword = std::string(option) + "=True";
  for (const std::string_view name : {std::string_view("fused"), std::string_view("foreach"), std::string_view("differentiable")}) {
    const Argument* given = call.named(name);
    if (given == nullptr || given->kind == "false" || given->kind == "none") continue;
    if (given->kind != "true") return no(fmt::format("`{}` of the optimizer is an expression: `{}`", name, text.at(given->value)));
    if (name == option) return no(fmt::format("the optimizer has {} already", keyword));
    if (name == "differentiable") return no("a differentiable optimizer has no such form");
    // The two exclude each other.
    if (call.named(option) != nullptr) return no("both fused and foreach are set at " + script.place(found->file, call.whole.begin));
    return Edits{{found->file, {{given->whole, keyword}}}};
  }
  if (const Argument* given = call.named(option)) return Edits{{found->file, {{given->value, "True"}}}};
  return Edits{{found->file, with_keyword(call, keyword)}};
}

Made zero_grad(const Script& script) {
  const std::vector<Found> all = zero_grads(script);
  std::vector<Found> found;
  std::ranges::copy_if(all, std::back_inserter(found), [](const Found& one) {
    const Argument* given = set_to_none(*one.call);
    return given != nullptr && given->kind == "false";
  });
  if (found.empty()) return no(why_no_zeros(script, all));
  if (found.size() > 1) return no("several calls have set_to_none=False: " + script.places(found));
  return Edits{{found[0].file, {{set_to_none(*found[0].call)->value, "True"}}}};
}

}  // namespace hotlens::advice
