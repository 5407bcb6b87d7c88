#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

bool at_one_place(const profile::Site& one, const profile::Site& other) {
  return one.file.index == other.file.index && one.line == other.line && one.column == other.column && one.end_line == other.end_line &&
         one.end_column == other.end_column;
}

// `self.layers[0]` of the block "net.layers.0" in the forward of "net"; nullopt where it has no such name.
std::optional<std::string> name_in(const profile::Model& model, const std::string& owner, const std::string& path) {
  if (!owner.empty() && !path.starts_with(owner + ".")) return std::nullopt;
  std::string name = "self", holder = owner;
  for (std::size_t at = owner.empty() ? 0 : owner.size() + 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, end - at);
    const auto of = std::ranges::find(model.modules, holder, &profile::ModelModule::path);
    const std::string_view kind = of == model.modules.end() ? std::string_view() : std::string_view(of->class_name);
    const bool number = !part.empty() && std::ranges::all_of(part, [](char each) { return each >= '0' && each <= '9'; });
    if (kind == "ModuleDict" || number != (kind == "ModuleList" || kind == "Sequential")) return std::nullopt;
    name += number ? "[" + part + "]" : "." + part;
    holder = path.substr(0, end);
    at = end + 1;
  }
  return name;
}

// Of an expression that calls these blocks and others: which of them it is, told by the object. Nullopt where that is not certain.
std::optional<std::string> is_one_of(const profile::Model& model, const std::string& owner, std::span<const std::string> paths,
                                     const PythonText& text, const Call& call) {
  // The method of a module: `def forward(self, …`.
  const std::string_view method = text.at(text.scope_of(call.whole));
  const std::size_t open = method.find('(');
  if (!method.starts_with("def ") || open == std::string_view::npos || !method.substr(open).starts_with("(self")) return std::nullopt;
  const std::string_view callee = text.at(call.callee);
  if (callee.contains('(')) return std::nullopt;  // evaluated twice, it may be another one
  std::string names;
  for (const std::string& path : paths) {
    const auto name = name_in(model, owner, path);
    if (!name) return std::nullopt;
    names += (names.empty() ? "" : ", ") + *name;
  }
  return paths.size() == 1 ? fmt::format("{} is {}", callee, names) : fmt::format("{} in ({})", callee, names);
}

}  // namespace

// `block(x)` → `torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)`. Where the expression calls other blocks, too, it is that
// for these alone: `(… if block in (self.layers[0], self.layers[2]) else block(x))`.
Made checkpoint(const Script& script, std::span<const std::string> paths) {
  if (const auto by = profile::checkpoint_switch(script.sources().model, paths)) return model_switch(script, *by);
  ByPlace edits;  // blocks of a loop have one
  const auto path_of = [&](const profile::ModelCall& call) -> const profile::ModelModule& {
    return script.sources().model.modules[call.module];
  };
  const auto is_wanted = [&](const profile::ModelCall& call) { return std::ranges::find(paths, path_of(call).path) != paths.end(); };
  const auto& calls = script.sources().model.calls;
  for (const std::string& path : paths) {
    const auto call = std::ranges::find_if(calls, [&](const auto& one) { return path_of(one).path == path; });
    if (call == calls.end() || !call->site) return no(fmt::format("it is not known where `{}` is called", path));
    const bool inside = call->parent < calls.size() && path_of(calls[call->parent]).class_name == "Sequential";
    if (inside) return no(fmt::format("`{}` is called by the nn.Sequential that holds it", path));
    std::vector<std::string> here, others;  // blocks that this expression calls; those that are not wanted
    bool of_one = call->parent < calls.size();
    for (const auto& other : calls) {
      if (!other.site || !at_one_place(*other.site, *call->site)) continue;
      of_one = of_one && other.parent < calls.size() && calls[other.parent].module == calls[call->parent].module;
      if (other.parent != call->parent) continue;
      std::vector<std::string>& list = is_wanted(other) ? here : others;
      if (std::ranges::find(list, path_of(other).path) == list.end()) list.push_back(path_of(other).path);
    }
    const std::size_t file = script.sources().file_of(*call->site);
    if (file == script.texts().size()) return no(fmt::format("`{}` is called in a library", path));
    const PythonText& text = script.texts()[file];
    const profile::Site& site = *call->site;
    const auto span = text.span_of(site.line, site.end_line, site.column, site.end_column);
    const auto found = std::ranges::find_if(text.calls(), [&](const Call& one) { return span && one.whole == *span; });
    if (found == text.calls().end())
      return no(fmt::format("the expression that calls `{}` is not certain, at {}:{}", path, script.name(file), site.line + 1));
    if (found->given.empty() || found->lone_generator)
      return no(fmt::format("`{}` is called without arguments, or with a generator, at {}:{}", path, script.name(file), site.line + 1));
    std::string condition;
    if (!others.empty()) {
      const auto told = of_one ? is_one_of(script.sources().model, path_of(calls[call->parent]).path, here, text, *found) : std::nullopt;
      if (!told) return no(fmt::format("the expression that calls `{}` also calls `{}`", path, others.front()));
      condition = *told;
    }
    const std::string given(text.at(Span{found->given.front().whole.begin, found->given.back().whole.end}));
    std::string made = fmt::format("torch.utils.checkpoint.checkpoint({}, {}, use_reentrant=False)", text.at(found->callee), given);
    if (!condition.empty()) made = fmt::format("({} if {} else {})", made, condition, text.at(found->whole));
    edits[file].insert_or_assign(found->whole.begin, Replacement{found->whole, std::move(made)});
  }
  return listed(std::move(edits), {"torch"});
}

}  // namespace hotlens::advice
