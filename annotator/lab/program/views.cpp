#include "annotator/lab/program/views.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "annotator/lab/program/literals.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kMostWays = 4096;

std::string shown(const Sizes& sizes) {
  std::string all;
  for (const std::int64_t size : sizes) all += (all.empty() ? "" : ", ") + std::to_string(size);
  return "[" + all + "]";
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
std::optional<Sizes> of_attention(const Sizes& literals, const Sizes& was, const Sizes& is, const Around& around) {
  const auto [heads_was, heads] = around.attention[0];
  const auto [width_was, width] = around.attention[1];
  if (heads_was <= 0) return std::nullopt;
  const auto stays_or = [&](std::size_t of, std::int64_t literal) { return was[of] == literal ? is[of] : literal; };
  Sizes now = literals;
  if (literals.size() == 3 && was.size() == 3 && literals[2] == width_was && was[2] == heads_was * width_was &&
      literals[1] % heads_was == 0) {
    now[0] = stays_or(0, literals[0]);
    now[1] = stays_or(1, literals[1] / heads_was) * heads;
    now[2] = width;
  } else if (literals.size() == 3 && literals[1] == 1 && literals[0] % heads_was == 0) {
    now[0] = literals[0] / heads_was * heads;
  } else if (literals.size() == 4 && was.size() == 3 && literals[1] == heads_was) {
    now[0] = literals[0] * heads_was == was[0] && is[0] % heads == 0 ? is[0] / heads : literals[0];
    now[1] = heads;
    now[2] = stays_or(1, literals[2]);
    now[3] = is[2];
  } else if (literals.size() == 2 && literals[0] > 0) {
    const std::int64_t rows = was.size() == 4 && was[0] * was[1] == literals[0] ? is[0] * is[1] : literals[0];
    if (rows <= 0 || product(is) % rows != 0) return std::nullopt;
    now = {rows, product(is) / rows};
  } else if (literals.size() == 3 && was.size() == 2) {
    const Sizes rows = is[0] == was[0] ? part(literals, 0, 2) : resolved(part(literals, 0, 2), {was[0]}, {is[0]}, around.sizes);
    now = {rows[0], rows[1], is[1]};
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
    } catch (const UnknownSize&) {
      if (!keep) throw;
      return false;
    }
  }
  return true;
}

}  // namespace

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
  throw UnknownSize{"what " + shown(literals) + " becomes where " + shown(in_was) + " becomes " + shown(in_is) + " cannot be known"};
}

namespace {

bool follow_sizes(Operator& op, const Sizes& literals, const Sizes& was, const Sizes& is, const Around& around) {
  const Numbers& numbers = around.numbers;
  if (around.attention.size() == 2) {
    if (const auto known = of_attention(literals, was, is, around)) {
      set_list(op, 1, *known);
      return *known != literals;
    }
  }
  const bool changes = std::ranges::any_of(literals, [&](std::int64_t one) { return moves(one, numbers); });
  if (was == is && !changes) return false;
  Sizes out = literals;
  if (const auto open = std::ranges::find(out, -1); open != out.end()) {
    *open = 1;
    const std::int64_t rest = product(out);
    *open = rest == 0 ? 0 : product(was) / rest;
  }
  // A batch of four beside four heads, now eight: a dimension that is what it was stays, where the others then fit.
  Sizes now = literals;
  const bool kept = reshape(now, was, is, out, numbers, true) && fits(now, product(is));
  if (!kept) {
    now = literals;
    reshape(now, was, is, out, numbers, false);
  }
  set_list(op, 1, now);
  return now != literals;
}

// Sizes beside those that the text writes: as computed, else those of the dimensions at their places.
Sizes beside_written(Operator op, const Sizes& literals, const Sizes& was, const Sizes& is, const Around& around) {
  try {
    follow_sizes(op, literals, was, is, around);
    return *list_at(op, 1);
  } catch (const UnknownSize&) {
    Sizes now = literals;
    for (std::size_t at = 0; at < now.size(); ++at) {
      const auto is_here = [&](const auto& one) { return one.first == at; };
      if (std::ranges::any_of(op.written, is_here)) continue;
      if (at >= was.size() || was[at] != literals[at]) throw;
      now[at] = is[at];
    }
    return now;
  }
}

}  // namespace

bool follow_view(Operator& op, const Sizes& was, const Sizes& is, const Around& around) {
  const auto literals = list_at(op, 1);
  if (!literals) return false;
  const auto is_inside = [&](const auto& one) { return one.first < literals->size(); };
  if (op.written.empty() || !std::ranges::all_of(op.written, is_inside)) return follow_sizes(op, *literals, was, is, around);
  // Numbers of the text are what they are, whatever the tensor has: what does not fit fails, as it does in the script.
  Sizes now = op.written.size() < literals->size() ? beside_written(op, *literals, was, is, around) : *literals;
  for (const auto& [place, number] : op.written) now[place] = number;
  set_list(op, 1, now);
  return now != *literals;
}

}  // namespace hotlens::lab
