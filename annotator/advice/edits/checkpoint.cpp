#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

bool at_one_place(const profile::Site& one, const profile::Site& other) {
  return one.file.index == other.file.index && one.line == other.line && one.column == other.column && one.end_line == other.end_line &&
         one.end_column == other.end_column;
}

}  // namespace

// `block(x)` → `torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)`, where the expression calls these blocks and no others.
Made checkpoint(const Script& script, std::span<const std::string> paths) {
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
    for (const auto& other : calls) {
      const bool same = other.parent == call->parent && other.site && at_one_place(*other.site, *call->site);
      if (same && !is_wanted(other)) return no(fmt::format("the expression that calls `{}` also calls `{}`", path, path_of(other).path));
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
    const std::string given(text.at(Span{found->given.front().whole.begin, found->given.back().whole.end}));
    edits[file].insert_or_assign(found->whole.begin,
                                 Replacement{found->whole, fmt::format("torch.utils.checkpoint.checkpoint({}, {}, use_reentrant=False)",
                                                                       text.at(found->callee), given)});
  }
  return listed(std::move(edits), {"torch"});
}

}  // namespace hotlens::advice
