#include "annotator/lab/edited/made_before.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace hotlens::layers {
namespace {

using Numbers = std::vector<std::int64_t>;

bool has(const lab::Value& value, const Numbers& sizes) {
  if (const auto* whole = std::get_if<lab::Whole>(&value.is)) {
    return std::ranges::find(sizes, whole->offset) != sizes.end();
  }
  const auto* values = std::get_if<lab::Values>(&value.is);
  return values != nullptr && std::ranges::any_of(*values, [&](const lab::Value& one) { return has(one, sizes); });
}

bool is_made_by(const lab::Operator& op, const std::string& maker) {
  return op.name == "aten::" + maker || (maker == "reshape" && op.name == "aten::view") || (maker.empty() && op.name != "hotlens::input");
}

// What the script's edited numbers were; empty: the edited one is none that its top level names.
Numbers edited_sizes(const Changes& changes) {
  Numbers were;
  for (const auto& [was, is] : changes.script) {
    if (was != is) were.push_back(was);
  }
  return were;
}

}  // namespace

std::optional<Unclear> made_before(const Changes& changes, const lab::Program& program) {
  const Numbers sizes = edited_sizes(changes);
  std::map<std::pair<std::string, bool>, std::ptrdiff_t> left;  // operators that a call may have made
  for (const Sized& one : changes.sized) {
    const auto is_its = [&](const lab::Operator& op) {
      const auto is_given = [&](const lab::Value& value) { return has(value, sizes); };
      return (one.in_modules || op.module == lab::kNoModule) && is_made_by(op, one.maker) &&
             (sizes.empty() || std::ranges::any_of(op.args, is_given));
    };
    const auto [known, first] = left.try_emplace({one.maker, one.in_modules}, 0);
    if (first) known->second = std::ranges::count_if(program.operators, is_its);
    if (known->second-- > 0) continue;
    return Unclear{.reason = "what is made here is no part of the recorded step, and its size was edited", .at = one.at};
  }
  return std::nullopt;
}

}  // namespace hotlens::layers
