#include "annotator/lab/program/follow.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "annotator/lab/program/literals.h"
#include "annotator/lab/program/views.h"

namespace hotlens::lab {
namespace {

// The sizes of a tensor that is made: `torch.zeros(8, 96)`.
bool follow_made(Operator& op, std::size_t at, const Around& around) {
  const auto literals = list_at(op, at);
  if (!literals) return false;
  Sizes now = *literals;
  for (std::size_t one = 0; one < now.size(); ++one) now[one] = by_what_is_around(now[one], around, one == 0);
  set_list(op, at, now);
  // `torch.full((n,), x.size(0))`: lengths.
  Whole* value = op.name == "aten::full" || op.name == "aten::new_full" ? whole_at(op, at + 1) : nullptr;
  const bool other = value != nullptr && moves(value->offset, around.sizes);
  if (other) value->offset = by_what_is_around(value->offset, around, true);
  return other || now != *literals;
}

// `torch.arange(half)`: as far as a number that the module holds.
bool follow_range(Operator& op, const Around& around) {
  Whole* end = whole_at(op, op.overload.empty() ? 0 : 1);
  if (end == nullptr || !moves(end->offset, around.numbers)) return false;
  const std::int64_t now = by_what_is_around(end->offset, around, false);
  const bool changes = now != end->offset;
  end->offset = now;
  return changes;
}

// The dimension that an argument names, from 0.
std::size_t dimension(const Operator& op, std::size_t at, std::size_t rank) {
  std::int64_t dim = 0;
  if (at < op.args.size()) {
    if (const auto* given = std::get_if<Whole>(&op.args[at].is)) dim = given->offset;
  }
  for (const auto& [name, value] : op.kwargs) {
    if (const auto* given = std::get_if<Whole>(&value.is); given != nullptr && name == "dim") dim = given->offset;
  }
  if (dim < 0) dim += static_cast<std::int64_t>(rank);
  if (dim < 0 || static_cast<std::size_t>(dim) >= rank) throw UnknownSize{"its dimension cannot be known"};
  return static_cast<std::size_t>(dim);
}

std::int64_t scaled(std::int64_t literal, std::int64_t was, std::int64_t is, const Numbers& numbers) {
  if (const auto known = only(held(literal, numbers))) return *known;
  if (was == 0 || literal * is % was != 0)
    throw UnknownSize{"what " + std::to_string(literal) + " becomes where " + std::to_string(was) + " becomes " + std::to_string(is) +
                      " cannot be known"};
  return literal * is / was;
}

// Whether a size is what another number of parts leaves for each (`split(self.width // self.heads)`), and no number of the module's.
bool counts_parts(std::int64_t size, std::int64_t whole, const Numbers& numbers) {
  const bool own = std::ranges::any_of(numbers, [&](const auto& one) { return one.first == size; });
  return !own && std::ranges::any_of(numbers, [&](const auto& one) { return one.first != one.second && one.first * size == whole; });
}

bool follow_split(Operator& op, const Sizes& was, const Sizes& is, const Numbers& numbers) {
  const std::size_t dim = dimension(op, 2, was.size());
  Whole* size = whole_at(op, 1);
  if (size != nullptr && counts_parts(size->offset, was[dim], numbers))
    throw UnknownSize{"into how many parts it splits is another number now"};
  if (was[dim] == is[dim]) return false;
  if (size != nullptr) {
    size->offset = scaled(size->offset, was[dim], is[dim], numbers);
    return true;
  }
  auto sizes = list_at(op, 1);
  if (!sizes) return false;
  for (std::int64_t& one : *sizes) one = scaled(one, was[dim], is[dim], numbers);
  set_list(op, 1, *sizes);
  return true;
}

// One dimension that becomes several.
bool follow_unflatten(Operator& op, const Sizes& was, const Sizes& is, const Numbers& numbers) {
  const std::size_t dim = dimension(op, 1, was.size());
  const auto literals = list_at(op, 2);
  if (!literals) throw UnknownSize{"its sizes cannot be known"};
  const bool moved = std::ranges::any_of(*literals, [&](std::int64_t one) { return moves(one, numbers); });
  if (was[dim] == is[dim] && !moved) return false;
  const Sizes now = resolved(*literals, {was[dim]}, {is[dim]}, numbers);
  set_list(op, 2, now);
  return now != *literals;
}

bool follow_expand(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  const auto literals = list_at(op, 1);
  if (!literals || literals->size() < was.size()) return false;
  Sizes now = *literals;
  const std::size_t more = now.size() - was.size();
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (now[at] == -1) continue;
    const bool own = at >= more && was[at - more] == now[at];
    now[at] = own ? is[at - more] : by_what_is_around(now[at], around, at == 0);
  }
  set_list(op, 1, now);
  return now != *literals;
}

// `table.repeat(height, 1, 1)`: how often is no size of its own.
bool follow_repeat(Operator& op, const Around& around) {
  const auto literals = list_at(op, 1);
  if (!literals) return false;
  Sizes now = *literals;
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (moves(now[at], around.sizes)) now[at] = by_what_is_around(now[at], around, at == 0);
  }
  set_list(op, 1, now);
  return now != *literals;
}

// Whether it is, but for its sign, a number by which the module cuts or pads, and another one now.
bool cuts(std::int64_t literal, const Around& around) {
  return literal != 0 && moves(std::abs(literal), around.cuts);
}

std::int64_t cut(std::int64_t literal, const Around& around) {
  const auto now = only(held(std::abs(literal), around.cuts));
  if (!now) throw UnknownSize{"which number " + std::to_string(literal) + " is cannot be known"};
  return literal < 0 ? -*now : *now;
}

// `F.pad(x, (self.left, 0))`: from the last dimension on. What is computed of sizes (`F.pad(x, (0, length - x.size(1)))`) is as it was
// where the dimension is.
bool follow_pad(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  auto widths = list_at(op, 1);
  if (!widths || widths->size() > 2 * was.size()) throw UnknownSize{"by how much it pads cannot be known"};
  bool changed = false;
  for (std::size_t at = 0; at < widths->size(); ++at) {
    std::int64_t& width = (*widths)[at];
    const std::size_t dim = was.size() - 1 - at / 2;
    if (cuts(width, around)) {
      width = cut(width, around);
      changed = true;
    } else if (was[dim] != is[dim] && !(width != 0 && !held(std::abs(width), around.cuts).empty())) {
      throw UnknownSize{"by how much it pads a dimension that has another size cannot be known"};
    }
  }
  set_list(op, 1, *widths);
  return changed;
}

// A part of a dimension that is another now: `x[:, :96]`. What a step takes of a table (`self.places[:, : x.size(1)]`) is as much as the
// batch needs, however large the table is.
bool follow_slice(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  const Numbers& numbers = around.numbers;
  const std::size_t dim = dimension(op, 1, was.size());
  bool changed = false;
  for (const std::size_t at : {std::size_t{2}, std::size_t{3}}) {
    Whole* bound = whole_at(op, at);
    if (bound != nullptr && cuts(bound->offset, around)) {
      bound->offset = cut(bound->offset, around);
      changed = true;
      continue;
    }
    // `self.rows[:height]` of a table that is as it was, where the height is another one now.
    if (around.held && bound != nullptr && was[dim] == is[dim] && bound->offset < was[dim] && moves(bound->offset, around.sizes)) {
      bound->offset = by_what_is_around(bound->offset, around, false);
      changed = true;
      continue;
    }
    if (was[dim] == is[dim] || bound == nullptr || bound->offset <= 0 || bound->offset > was[dim]) continue;
    if (around.held && !moves(bound->offset, numbers)) continue;
    const auto other = only(held(bound->offset, around.sizes));  // `x[:, :, :length]` of what is padded beyond it
    const bool whole = bound->offset * is[dim] % was[dim] == 0;
    bound->offset = bound->offset == was[dim]                                 ? is[dim]
                    : other && !whole && held(bound->offset, numbers).empty() ? *other
                                                                              : scaled(bound->offset, was[dim], is[dim], numbers);
    changed = true;
  }
  return changed;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool cuts_or_pads(const Operator& op) {
  return is_one_of(op.name, {"aten::slice", "aten::narrow", "aten::pad", "aten::constant_pad_nd"});
}

std::expected<bool, std::string> follow(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  try {
    const Numbers& numbers = around.numbers;
    if (is_one_of(op.name, {"aten::zeros", "aten::ones", "aten::full", "aten::empty", "aten::rand", "aten::randn"}))
      return follow_made(op, 0, around);
    if (is_one_of(op.name, {"aten::new_zeros", "aten::new_ones", "aten::new_full", "aten::new_empty"})) return follow_made(op, 1, around);
    if (op.name == "aten::arange") return follow_range(op, around);
    if (was.size() != is.size()) return false;
    if (is_one_of(op.name, {"aten::view", "aten::reshape", "aten::_unsafe_view"}) && op.overload.empty())
      return follow_view(op, was, is, around);
    if (is_one_of(op.name, {"aten::split", "aten::split_with_sizes"})) return follow_split(op, was, is, numbers);
    if (op.name == "aten::repeat") return follow_repeat(op, around);
    if (op.name == "aten::expand") return follow_expand(op, was, is, around);
    if (is_one_of(op.name, {"aten::slice", "aten::narrow"})) return follow_slice(op, was, is, around);
    // `self.mask[:, :, :T, :T]` of one that is as large as T: torch notes no slice.
    if (op.name == "aten::alias" && around.held && !around.explained)
      return std::unexpected("all of a table was taken, and it has another size now");
    if (op.name == "aten::unflatten") return follow_unflatten(op, was, is, numbers);
    if (is_one_of(op.name, {"aten::pad", "aten::constant_pad_nd"})) return follow_pad(op, was, is, around);
    if (op.name == "aten::as_strided" && was != is) return std::unexpected(op.name + " of a tensor with other sizes is not followed");
    return false;
  } catch (const UnknownSize& reason) {
    return std::unexpected(reason.why);
  }
}

}  // namespace hotlens::lab
