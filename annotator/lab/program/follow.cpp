#include "annotator/lab/program/follow.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

namespace hotlens::lab {
namespace {

constexpr std::size_t kMostWays = 4096;

struct Unclear {
  std::string why;
};

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::string shown(const Sizes& sizes) {
  std::string all;
  for (const std::int64_t size : sizes) all += (all.empty() ? "" : ", ") + std::to_string(size);
  return "[" + all + "]";
}

Whole* whole_at(Operator& op, std::size_t at) {
  return at < op.args.size() ? std::get_if<Whole>(&op.args[at].is) : nullptr;
}

std::optional<Sizes> list_at(const Operator& op, std::size_t at) {
  const auto* values = at < op.args.size() ? std::get_if<Values>(&op.args[at].is) : nullptr;
  if (values == nullptr) return std::nullopt;
  Sizes sizes;
  for (const Value& value : *values) {
    const auto* one = std::get_if<Whole>(&value.is);
    if (one == nullptr || one->numerator != 0) return std::nullopt;
    sizes.push_back(one->offset);
  }
  return sizes;
}

void set_list(Operator& op, std::size_t at, const Sizes& sizes) {
  Values values;
  for (const std::int64_t size : sizes) values.emplace_back().is = Whole{.offset = size};
  op.args[at].is = std::move(values);
}

// What a literal may be now by what the module holds; empty where it holds no such number.
std::set<std::int64_t> held(std::int64_t literal, const Numbers& numbers) {
  std::set<std::int64_t> found;
  for (const auto& [was, is] : numbers) {
    if (was == literal) found.insert(is);
  }
  return found;
}

std::optional<std::int64_t> only(const std::set<std::int64_t>& found) {
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

bool moves(std::int64_t literal, const Numbers& numbers) {
  return std::ranges::any_of(numbers, [&](const auto& one) { return one.first == literal && one.second != literal; });
}

// Of a literal that no dimension of the operator's own tensor explains: by what the module holds, else by the sizes around.
std::int64_t by_what_is_around(std::int64_t literal, const Around& around, bool first) {
  if (literal <= 1) return literal;
  std::set<std::int64_t> found = held(literal, around.sizes);
  if (const auto known = only(held(literal, around.leading)); first && known && found.size() > 1) return *known;
  if (const auto known = only(held(literal, around.numbers))) found.insert(*known);
  if (found.size() > 1) throw Unclear{"which size " + std::to_string(literal) + " is cannot be known"};
  return found.empty() ? literal : *found.begin();
}

// The sizes of a tensor that is made: `torch.zeros(8, 96)`.
bool follow_made(Operator& op, std::size_t at, const Around& around) {
  const auto literals = list_at(op, at);
  if (!literals) return false;
  Sizes now = *literals;
  for (std::size_t one = 0; one < now.size(); ++one) now[one] = by_what_is_around(now[one], around, one == 0);
  set_list(op, at, now);
  return now != *literals;
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

// Dimensions [begin, end) of a tensor that together become others.
struct Group {
  std::size_t in_begin, in_end, out_begin, out_end;
};

std::vector<Group> groups(const Sizes& in, const Sizes& out) {
  std::vector<Group> all;
  for (std::size_t i = 0, o = 0; i < in.size() || o < out.size();) {
    Group group{i, i, o, o};
    std::int64_t a = 1, b = 1;
    do {
      if (i < in.size() && (a <= b || o == out.size())) {
        a *= in[i++];
      } else if (o < out.size()) {
        b *= out[o++];
      } else {
        break;
      }
    } while (a != b || i == group.in_begin || o == group.out_begin);
    group.in_end = i;
    group.out_end = o;
    all.push_back(group);
  }
  return all;
}

// Every way to give each literal one of its candidates, -1 staying what is left over; those whose product is `wanted`.
std::set<Sizes> ways(const std::vector<std::set<std::int64_t>>& candidates, std::int64_t wanted) {
  std::set<Sizes> found;
  std::size_t tried = 0;
  Sizes chosen;
  const std::function<void(std::int64_t, bool)> choose = [&](std::int64_t so_far, bool open) {
    if (++tried > kMostWays) return;
    if (chosen.size() == candidates.size()) {
      if (open ? so_far != 0 && wanted % so_far == 0 : so_far == wanted) found.insert(chosen);
      return;
    }
    for (const std::int64_t one : candidates[chosen.size()]) {
      chosen.push_back(one);
      choose(one == -1 ? so_far : so_far * one, open || one == -1);
      chosen.pop_back();
    }
  };
  choose(1, false);
  return found;
}

// One literal, of which the module holds nothing, takes what is left over.
std::set<Sizes> ways_with_rest(const std::vector<std::set<std::int64_t>>& candidates, const Sizes& literals, const Numbers& numbers,
                               std::int64_t wanted) {
  std::set<Sizes> found;
  for (std::size_t at = 0; at < literals.size(); ++at) {
    if (!held(literals[at], numbers).empty() || literals[at] <= 1) continue;
    auto open = candidates;
    open[at] = {-1};
    for (Sizes way : ways(open, wanted)) {
      way[at] = 1;
      way[at] = wanted / product(way);
      found.insert(std::move(way));
    }
  }
  return found;
}

// Whether a literal that stayed could as well be a number of the module's that moved: heads of four, now eight, beside a window of four.
bool may_move(std::vector<std::set<std::int64_t>> candidates, const Sizes& literals, const Numbers& numbers, std::int64_t wanted) {
  bool any = false;
  for (std::size_t at = 0; at < literals.size(); ++at) {
    if (moves(literals[at], numbers) && candidates[at].size() > 1) any = candidates[at].erase(literals[at]) > 0 || any;
  }
  return any && (!ways(candidates, wanted).empty() || !ways_with_rest(candidates, literals, numbers, wanted).empty());
}

Sizes resolved(const Sizes& literals, const Sizes& in_was, const Sizes& in_is, const Numbers& numbers) {
  const std::int64_t wanted = product(in_is);
  std::vector<std::set<std::int64_t>> candidates;
  for (const std::int64_t literal : literals) {
    std::set<std::int64_t> some = held(literal, numbers);
    for (std::size_t at = 0; at < in_was.size(); ++at) {
      if (in_was[at] == literal && literal > 1) some.insert(in_is[at]);
    }
    if (some.empty()) some.insert(literal);
    candidates.push_back(std::move(some));
  }
  auto found = ways(candidates, wanted);
  const bool open = std::ranges::find(literals, -1) != literals.end();
  if (found.empty() && !open) found = ways_with_rest(candidates, literals, numbers, wanted);
  const bool stays = found.size() == 1 && *found.begin() == literals && in_was == in_is;
  if (found.size() == 1 && !(stays && !open && may_move(candidates, literals, numbers, wanted))) return *found.begin();
  if (found.empty() && in_was == in_is) return literals;  // what the module holds is something else
  throw Unclear{"what " + shown(literals) + " becomes where " + shown(in_was) + " becomes " + shown(in_is) + " cannot be known"};
}

Sizes part(const Sizes& of, std::size_t begin, std::size_t end) {
  return Sizes(of.begin() + static_cast<std::ptrdiff_t>(begin), of.begin() + static_cast<std::ptrdiff_t>(end));
}

// A number that the module holds, of two dimensions of one size, as a width and a length: whether it is that of another group.
bool is_of_another(std::int64_t literal, std::int64_t now, const Group& own, const std::vector<Group>& all, const Sizes& was,
                   const Sizes& is, const Sizes& out) {
  return std::ranges::any_of(all, [&](const Group& group) {
    const std::int64_t before = product(part(was, group.in_begin, group.in_end)), after = product(part(is, group.in_begin, group.in_end));
    const Sizes written = part(out, group.out_begin, group.out_end);
    bool inside = before != after && std::ranges::find(written, literal) != written.end();
    for (std::size_t at = group.in_begin; at < group.in_end; ++at) inside = inside || (was[at] == literal && is[at] == now);
    return group.in_begin != own.in_begin && ((before == literal && after == now) || inside);
  });
}

// As torch.nn.functional.multi_head_attention_forward writes them: heads beside the batch, apart from it, and put together again.
std::optional<Sizes> of_attention(const Sizes& literals, const Sizes& was, const Sizes& is, const Numbers& attention) {
  const auto [heads_was, heads] = attention[0];
  const auto [width_was, width] = attention[1];
  if (heads_was <= 0) return std::nullopt;
  Sizes now = literals;
  if (literals.size() == 3 && was.size() == 3 && literals[2] == width_was && was[2] == heads_was * width_was &&
      literals[1] % heads_was == 0) {
    now[1] = literals[1] / heads_was * heads;
    now[2] = width;
  } else if (literals.size() == 3 && literals[1] == 1 && literals[0] % heads_was == 0) {
    now[0] = literals[0] / heads_was * heads;
  } else if (literals.size() == 4 && was.size() == 3 && literals[1] == heads_was) {
    now[1] = heads;
    now[3] = is[2];
  } else if ((literals.size() == 3 && was.size() == 2) || (literals.size() == 2 && literals[0] > 0)) {
    const std::int64_t rest = literals.size() == 3 ? literals[0] * literals[1] : literals[0];
    if (rest <= 0 || product(is) % rest != 0) return std::nullopt;
    now.back() = product(is) / rest;
  } else {
    return std::nullopt;
  }
  return now;
}

// Whether so many elements have these sizes, of which one may be -1.
bool fits(const Sizes& sizes, std::int64_t elements) {
  const std::int64_t all = product(sizes);
  return all < 0 ? elements % -all == 0 : all == elements;
}

// `now`: the literals, of what was `out`. `keep`: dimensions that are what they were stay, whatever the module holds; then false where the
// others cannot be told.
bool reshape(Sizes& now, const Sizes& was, const Sizes& is, const Sizes& out, const Numbers& numbers, bool keep) {
  const Sizes literals = now;
  const std::vector<Group> all = groups(was, out);
  bool open = false;  // a literal before is what is left over
  for (const Group& group : all) {
    const Sizes in_was = part(was, group.in_begin, group.in_end), in_is = part(is, group.in_begin, group.in_end);
    const Sizes written = part(literals, group.out_begin, group.out_end);
    const bool same = in_was == in_is && std::ranges::none_of(written, [&](std::int64_t one) { return moves(one, numbers); });
    open = open || std::ranges::find(written, -1) != written.end();
    if (same || written.empty()) continue;
    if (written.size() == 1 && (written[0] == -1 || (keep && !open && in_was == in_is && in_was.size() == 1))) continue;
    auto alone = written.size() == 1 ? only(held(written[0], numbers)) : std::nullopt;
    if (alone && in_was == in_is && is_of_another(written[0], *alone, group, all, was, is, out)) alone.reset();
    try {
      const Sizes becomes = written.size() > 1 ? resolved(written, in_was, in_is, numbers) : Sizes{alone.value_or(product(in_is))};
      std::ranges::copy(becomes, now.begin() + static_cast<std::ptrdiff_t>(group.out_begin));
    } catch (const Unclear&) {
      if (!keep) throw;
      return false;
    }
  }
  return true;
}

bool follow_view(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  const Numbers& numbers = around.numbers;
  const auto literals = list_at(op, 1);
  if (!literals) return false;
  if (around.attention.size() == 2) {
    if (const auto known = of_attention(*literals, was, is, around.attention)) {
      set_list(op, 1, *known);
      return *known != *literals;
    }
  }
  const bool changes = std::ranges::any_of(*literals, [&](std::int64_t one) { return moves(one, numbers); });
  if (was == is && !changes) return false;
  Sizes out = *literals;
  if (const auto open = std::ranges::find(out, -1); open != out.end()) {
    *open = 1;
    const std::int64_t rest = product(out);
    *open = rest == 0 ? 0 : product(was) / rest;
  }
  // A batch of four beside four heads, now eight: a dimension that is what it was stays, where the others then fit.
  Sizes now = *literals;
  const bool kept = reshape(now, was, is, out, numbers, true) && fits(now, product(is));
  if (!kept) {
    now = *literals;
    reshape(now, was, is, out, numbers, false);
  }
  set_list(op, 1, now);
  return now != *literals;
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
  if (dim < 0 || static_cast<std::size_t>(dim) >= rank) throw Unclear{"its dimension cannot be known"};
  return static_cast<std::size_t>(dim);
}

std::int64_t scaled(std::int64_t literal, std::int64_t was, std::int64_t is, const Numbers& numbers) {
  if (const auto known = only(held(literal, numbers))) return *known;
  if (was == 0 || literal * is % was != 0)
    throw Unclear{"what " + std::to_string(literal) + " becomes where " + std::to_string(was) + " becomes " + std::to_string(is) +
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
    throw Unclear{"into how many parts it splits is another number now"};
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
  if (!literals) throw Unclear{"its sizes cannot be known"};
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

// Whether it is, but for its sign, a number by which the module cuts or pads, and another one now.
bool cuts(std::int64_t literal, const Around& around) {
  return literal != 0 && moves(std::abs(literal), around.cuts);
}

std::int64_t cut(std::int64_t literal, const Around& around) {
  const auto now = only(held(std::abs(literal), around.cuts));
  if (!now) throw Unclear{"which number " + std::to_string(literal) + " is cannot be known"};
  return literal < 0 ? -*now : *now;
}

// `F.pad(x, (self.left, 0))`: from the last dimension on. What is computed of sizes (`F.pad(x, (0, length - x.size(1)))`) is as it was
// where the dimension is.
bool follow_pad(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  auto widths = list_at(op, 1);
  if (!widths || widths->size() > 2 * was.size()) throw Unclear{"by how much it pads cannot be known"};
  bool changed = false;
  for (std::size_t at = 0; at < widths->size(); ++at) {
    std::int64_t& width = (*widths)[at];
    const std::size_t dim = was.size() - 1 - at / 2;
    if (cuts(width, around)) {
      width = cut(width, around);
      changed = true;
    } else if (was[dim] != is[dim] && !(width != 0 && !held(std::abs(width), around.cuts).empty())) {
      throw Unclear{"by how much it pads a dimension that has another size cannot be known"};
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
    if (op.name == "aten::expand") return follow_expand(op, was, is, around);
    if (is_one_of(op.name, {"aten::slice", "aten::narrow"})) return follow_slice(op, was, is, around);
    // `self.mask[:, :, :T, :T]` of one that is as large as T: torch notes no slice.
    if (op.name == "aten::alias" && around.held && !around.explained)
      return std::unexpected("all of a table was taken, and it has another size now");
    if (op.name == "aten::unflatten") return follow_unflatten(op, was, is, numbers);
    if (is_one_of(op.name, {"aten::pad", "aten::constant_pad_nd"})) return follow_pad(op, was, is, around);
    if (op.name == "aten::as_strided" && was != is) return std::unexpected(op.name + " of a tensor with other sizes is not followed");
    return false;
  } catch (const Unclear& reason) {
    return std::unexpected(reason.why);
  }
}

}  // namespace hotlens::lab
