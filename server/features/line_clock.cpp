#include "server/features/line_clock.h"

#include <algorithm>
#include <map>
#include <ranges>

namespace hotlens::features {

// Statements of one function do not overlap, so they add up; of several functions (a lambda's body) the outer ones hold the inner.
std::optional<LineClock> clock_of(const profile::Loop& loop, const std::vector<std::uint32_t>& rows) {
  if (rows.empty()) return std::nullopt;
  const profile::LoopStatement* longest = nullptr;
  struct Sum {
    Ns total{}, startup{}, each{};
    auto operator<=>(const Sum&) const = default;
  };
  std::map<std::string, Sum> by_function;
  for (const std::uint32_t row : rows) {
    const profile::LoopStatement& statement = loop.statements.at(row);
    Sum& sum = by_function[statement.site.function];
    sum.total += statement.total;
    sum.startup += statement.startup;
    sum.each += time_when_it_comes(statement).value_or(Ns{});
    if (longest == nullptr || statement.total > longest->total) longest = &statement;
  }
  const auto [total, startup, each] = std::ranges::max(by_function | std::views::values);
  return LineClock{.per_update = per_update(loop, total),
                   .share = profile::share(loop, total),
                   .each = each,
                   .in_updates = longest->in_updates,
                   .every = rhythm(*longest),
                   .kind = longest->kind,
                   .startup = startup,
                   .rare = is_rare(loop, *longest)};
}

bool counts_requests(const LineClock& clock) {
  return clock.kind == "for" || clock.kind == "while" || clock.kind == "loop";
}

}  // namespace hotlens::features
