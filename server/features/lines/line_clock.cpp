#include "server/features/lines/line_clock.h"

#include <algorithm>
#include <cmath>
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
                   .of_updates = counted_of(loop, *longest),
                   .in_watched = longest->in_watched,
                   .usual = longest->usual,
                   .every = rhythm(*longest),
                   .kind = longest->kind,
                   .startup = startup,
                   .rare = is_rare(loop, *longest)};
}

std::optional<LineClock> clock_of_fetch(const profile::Profile& profile, double part) {
  const profile::LoopStatement* asked = profile::fetching(*profile.loop, profile.stage_sites);
  if (asked == nullptr) return std::nullopt;
  const auto scaled = [&](Ns time) { return Ns{std::llround(part * static_cast<double>(time.count()))}; };
  return LineClock{.per_update = scaled(per_update(*profile.loop, asked->total)),
                   .share = part * profile::share(*profile.loop, asked->total),
                   .each = scaled(time_when_it_comes(*asked).value_or(Ns{})),
                   .in_updates = asked->in_updates,
                   .of_updates = counted_of(*profile.loop, *asked),
                   .in_watched = asked->in_watched,
                   .usual = asked->usual,
                   .every = rhythm(*asked),
                   .kind = "statement",
                   .startup = {},
                   .rare = is_rare(*profile.loop, *asked)};
}

bool counts_requests(const LineClock& clock) {
  return clock.kind == "for" || clock.kind == "while" || clock.kind == "loop";
}

}  // namespace hotlens::features
