#include "annotator/profile/loop.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "annotator/common/format.h"

namespace hotlens::profile {

const LoopStatement* fetching(const Loop& loop, const std::vector<StageSite>& sites) {
  const LoopStatement* longest = nullptr;
  for (const LoopStatement& statement : loop.statements) {
    const bool data = std::ranges::any_of(sites, [&](const StageSite& site) {
      return site.stage == Stage::data && site.site.file == statement.site.file && site.site.line == statement.site.line;
    });
    const bool more = longest == nullptr || statement.total > longest->total;
    if (data && statement.kind == "for" && more) longest = &statement;
  }
  return longest;
}

Ns per_update(const Loop& loop, Ns total) {
  return total / loop.updates;
}

double share(const Loop& loop, Ns total) {
  return static_cast<double>(total.count()) / static_cast<double>(loop.watched.count());
}

std::optional<double> rhythm(const LoopStatement& statement) {
  if (statement.in_updates < 2) return std::nullopt;
  return static_cast<double>(statement.last_update - statement.first_update) / static_cast<double>(statement.in_updates - 1);
}

std::optional<Ns> time_when_it_comes(const LoopStatement& statement) {
  const std::int64_t times = statement.in_watched > 0 ? statement.in_watched : statement.calls;
  return times > 0 ? std::optional(statement.timed / times) : std::nullopt;
}

std::int64_t counted_of(const Loop& loop, const LoopStatement& statement) {
  const std::optional<Ns> each = time_when_it_comes(statement);
  if (statement.in_updates != 1 || !each || statement.total <= Ns{}) return loop.made;
  const double apart =
      static_cast<double>(each->count()) * static_cast<double>(loop.updates) / static_cast<double>(statement.total.count());
  return std::clamp<std::int64_t>(std::llround(apart), 1, std::max<std::int64_t>(loop.made, 1));
}

bool is_rare(const Loop& loop, const LoopStatement& statement) {
  return statement.in_updates > 0 && statement.in_updates * 2 < loop.made;
}

std::vector<LoopFunction> functions(const Loop& loop) {
  std::map<std::pair<std::uint32_t, std::string>, LoopFunction> known;
  for (const LoopStatement& statement : loop.statements) {
    LoopFunction& of = known[{statement.site.file.index, statement.site.function}];
    of.statements.push_back(&statement);
    of.total += statement.total;
    of.startup += statement.startup;
  }
  std::vector<LoopFunction> list;
  for (auto& [key, of] : known) {
    of.file = FileId{key.first};
    of.function = key.second;
    std::ranges::stable_sort(of.statements, {}, [](const LoopStatement* each) { return std::pair(each->site.line, each->site.column); });
    list.push_back(std::move(of));
  }
  std::ranges::stable_sort(list, std::ranges::greater{}, &LoopFunction::total);
  // `main()` at the top level has all the time too, and tells nothing: the innermost function with practically all of it holds the loop.
  constexpr double kAll = 0.99;
  const auto has_all = [&](const LoopFunction& of) { return share(loop, of.total) >= kAll * share(loop, list.front().total); };
  const auto after = std::ranges::find_if_not(list, has_all);
  if (after - list.begin() > 1) std::rotate(list.begin(), after - 1, after);
  return list;
}

std::string_view called_name(std::string_view function) {
  return function.substr(function.rfind('.') + 1);
}

bool is_called_in(std::string_view line, std::string_view called_name) {
  const std::string call = std::string(called_name) + "(";
  for (std::size_t at = line.find(call); at != std::string_view::npos; at = line.find(call, at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_') return true;
  }
  return false;
}

Ns rare_time(const Loop& loop) {
  const std::vector<LoopFunction> all = functions(loop);
  Ns most{};
  for (const LoopFunction& of : all) {
    Ns rare{};
    for (const LoopStatement* statement : of.statements) {
      if (is_rare(loop, *statement)) rare += statement->total;
    }
    // What a called function does now and then is part of a statement that holds it.
    most = std::max(most, rare);
    if (&of == &all.front() && rare > Ns{}) break;
  }
  return std::min(most, loop.watched);
}

double usual_share(const Loop& loop) {
  return 1 - share(loop, loop.rare);
}

bool is_mostly_rare(const Loop& loop) {
  constexpr double kMost = 0.5;
  return 1 - usual_share(loop) >= kMost;
}

Update mean_update(const Loop& loop) {
  const Ns rare = per_update(loop, loop.rare);
  return {.step = per_update(loop, loop.watched) - rare, .rare = rare};
}

Update mean_update(const Profile& profile) {
  return profile.loop ? mean_update(*profile.loop) : Update{.step = profile.plain_step.value_or(profile.step_wall())};
}

Ns headline_whole(const Profile& profile) {
  if (!profile.has_device() || profile.steps.empty()) return profile.step_wall();
  return std::max(mean_update(profile).step, profile.steps[profile.representative].device);
}

bool is_negligible(const Update& update) {
  constexpr int kTelling = 20;  // one part in so many
  return update.rare * kTelling < update.step + update.rare;
}

std::optional<double> share_of_others(const Loop& loop) {
  constexpr double kScarce = 0.9, kTrace = 0.1;
  if (!loop.processors) return std::nullopt;
  const Processors& seen = *loop.processors;
  const double all = static_cast<double>(seen.count) * static_cast<double>(seen.wall.count());
  const double others = static_cast<double>(seen.others.count()) / all;
  const double ours = static_cast<double>(seen.ours.count()) / all;
  return others >= kTrace && others + ours >= kScarce ? std::optional(std::min(others, 1.0)) : std::nullopt;
}

Ns step_time(const Update& update) {
  return is_negligible(update) ? update.step + update.rare : update.step;
}

std::string spelled(const UnusedGraph& graph) {
  return format::harmless(graph.model) + " is called with gradients on and no backward pass follows: each call keeps " +
         format::readable(graph.kept) + " until its results go; nothing under torch.no_grad()";
}

std::string spelled(const Update& update, const std::string& after_step) {
  const std::string step = format::readable(step_time(update)) + "/step" + after_step;
  return is_negligible(update) ? step : step + " + " + format::readable(update.rare) + " rare work";
}

}  // namespace hotlens::profile
