#include "annotator/ranks/culprit.h"

#include <algorithm>
#include <map>

namespace hotlens::ranks {
namespace {

constexpr int kExplains = 4;           // parts of a delay: less does not explain it
constexpr std::size_t kCompared = 32;  // others that one is compared with, spread over all

Ns middle(std::vector<Ns>& times) {
  std::ranges::sort(times);
  return times.size() % 2 == 1 ? times[times.size() / 2] : (times[times.size() / 2 - 1] + times[times.size() / 2]) / 2;
}

// Without modules.
Doing outline(Doing doing) {
  doing.module = doing.after = doing.before = kNothing;
  return doing;
}

std::size_t position_of(const Shared& shared, std::uint32_t rank) {
  return static_cast<std::size_t>(std::ranges::find(shared.rank, rank) - shared.rank.begin());
}

}  // namespace

Culprits::Culprits(std::span<const RankRecord> records, const RankSet& set, std::span<const std::vector<std::uint32_t>> local)
    : records_(records), set_(set), local_(local), shared_of_(records.size()) {
  for (std::size_t at = 0; at < set.collectives.size(); ++at) {
    for (const std::uint32_t rank : set.collectives[at].rank) shared_of_[rank].push_back(at);
  }
}

Cause Culprits::follow(std::size_t which, int left) const {
  const std::uint32_t last = set_.collectives[which].last;
  const std::vector<Window> compared = windows(which);
  const Cause own{last, explain(compared, last, set_.collectives[which].late)};
  if (!own.culprit.doing.communicates || left == 0) return own;
  const auto window = std::ranges::find(compared, last, &Window::rank);
  const std::optional<std::size_t> before = waited_most(*window);
  return before && *before != which ? follow(*before, left - 1) : own;
}

bool Culprits::is_before(const Shared& one, const Shared& shared) const {
  for (std::size_t at = 0; at < shared.rank.size(); ++at) {
    const std::vector<Collective>& own = records_[shared.rank[at]].collectives;
    if (own[one.which[at]].end > own[shared.which[at]].start) return false;
  }
  return true;
}

// Since the latest collective of the group that each had left before it came to this one.
std::vector<Culprits::Window> Culprits::windows(std::size_t which) const {
  const Shared& shared = set_.collectives[which];
  const Shared* before = nullptr;
  const std::vector<std::size_t>& earlier = shared_of_[shared.last];
  for (auto at = std::ranges::lower_bound(earlier, which); at != earlier.begin() && before == nullptr;) {
    const Shared& one = set_.collectives[*--at];
    if (one.group == shared.group && one.rank == shared.rank && is_before(one, shared)) before = &one;
  }
  std::vector<Window> result;
  for (std::size_t at = 0; at < shared.rank.size(); ++at) {
    const RankRecord& record = records_[shared.rank[at]];
    const std::size_t begin = before ? record.interval_at(record.collectives[before->which[at]].end) : 0;
    result.push_back({shared.rank[at], begin, record.interval_at(record.collectives[shared.which[at]].start)});
  }
  return result;
}

// By what was done, with modules as numbers of the set.
std::vector<Spent> Culprits::sums(const Window& window) const {
  const RankRecord& record = records_[window.rank];
  std::map<Doing, Ns> sums;
  const auto number = [&](std::uint32_t module) { return module == kNothing ? kNothing : local_[window.rank][module]; };
  for (auto at = std::ranges::lower_bound(record.spent, window.begin, {}, &Spent::interval);
       at != record.spent.end() && at->interval < window.end; ++at) {
    Doing doing = at->doing;
    doing.module = number(doing.module);
    doing.after = number(doing.after);
    doing.before = number(doing.before);
    sums[doing] += at->time;
  }
  std::vector<Spent> result;
  for (const auto& [doing, time] : sums) result.push_back({0, doing, time});
  return result;
}

// The part of the step that grew most, then what in it.
Culprit Culprits::explain(const std::vector<Window>& windows, std::uint32_t last, Ns late) const {
  std::map<Doing, std::vector<Ns>> others;
  std::vector<Spent> own;
  std::size_t compared = 0;
  const std::size_t stride = std::max<std::size_t>(1, windows.size() / kCompared);
  for (std::size_t at = 0; at < windows.size(); ++at) {
    if (windows[at].rank == last) own = sums(windows[at]);
    if (windows[at].rank == last || (at % stride != 0 && windows.size() > kCompared)) continue;
    ++compared;
    for (const Spent& spent : sums(windows[at])) others[spent.doing].push_back(spent.time);
  }
  std::map<Doing, Ns> by_part;
  for (Spent& spent : own) {
    std::vector<Ns>& times = others[spent.doing];
    times.resize(compared);
    if (!times.empty()) spent.time -= middle(times);
    times.clear();  // said
    by_part[outline(spent.doing)] += spent.time;
  }
  for (auto& [doing, times] : others) {
    if (times.empty()) continue;
    times.resize(compared);
    by_part[outline(doing)] -= middle(times);
  }
  Culprit culprit;
  for (const auto& [part, time] : by_part) {
    if (time > culprit.longer) culprit = {.doing = part, .longer = time, .known = true};
  }
  if (culprit.longer < late / kExplains) return {};
  if (culprit.known) deepen(own, culprit);
  culprit.longer = std::min(culprit.longer, late);  // the rest it had made up for
  return culprit;
}

// One piece of host code that is half of it, else the deepest module that holds half.
void Culprits::deepen(const std::vector<Spent>& excess, Culprit& culprit) const {
  const Ns half = culprit.longer / 2;
  std::map<std::string_view, std::pair<Ns, std::uint32_t>> by_path;  // the module that has that path, where one is known
  const Doing part = culprit.doing;
  for (const Spent& spent : excess) {
    if (outline(spent.doing) != part) continue;
    if (spent.time >= half) culprit.doing = spent.doing;
    if (spent.doing.module == kNothing) continue;
    const std::string_view path = set_.modules[spent.doing.module];
    for (std::size_t end = path.size(); end > 0;) {
      auto& [time, module] = by_path.try_emplace(path.substr(0, end), Ns{}, kNothing).first->second;
      time += spent.time;
      if (end == path.size()) module = spent.doing.module;
      end = path.find_last_of("./", end - 1);
      if (end == std::string_view::npos) break;
    }
  }
  if (culprit.doing != part) return;
  std::size_t deepest = 0;
  for (const auto& [path, sum] : by_path) {
    if (sum.first < half || sum.second == kNothing || path.size() < deepest) continue;
    deepest = path.size();
    culprit.doing.module = sum.second;
  }
}

std::optional<std::size_t> Culprits::waited_most(const Window& window) const {
  const RankRecord& record = records_[window.rank];
  std::optional<std::size_t> most;
  Ns longest{};
  for (const std::size_t which : shared_of_[window.rank]) {
    const Shared& shared = set_.collectives[which];
    const std::size_t at = position_of(shared, window.rank);
    const std::size_t interval = record.interval_at(record.collectives[shared.which[at]].start);
    if (interval < window.begin || interval >= window.end || shared.last == window.rank || shared.waited[at] <= longest) continue;
    longest = shared.waited[at];
    most = which;
  }
  return most;
}

}  // namespace hotlens::ranks
