#include "annotator/causes/verdict.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "annotator/causes/cause_sums.h"
#include "annotator/causes/cause_table.h"
#include "annotator/causes/function_times.h"
#include "annotator/causes/verdict_line.h"
#include "annotator/profile/place_name.h"

namespace hotlens::causes {
namespace {

constexpr double kMajor = 1.0 / 3.0;        // of the path: what is worth naming
constexpr double kMajorIdle = 0.5;          // of the idle time: what starves the device
constexpr double kFull = 0.9;               // of the step: a device that is busy so long hardly idles
constexpr double kLead = 1.15;              // over the next cause: closer ones are one noisy step apart
constexpr double kPrevails = 0.55;          // of the arithmetic: one family of operators has the clear majority
constexpr double kSmallestEvidence = 0.01;  // of the path
constexpr double kMostOf = 0.5;             // a module is named as the place where it holds at least half of the time

Ns& at(profile::Causes& causes, profile::Cause cause) {
  return causes[static_cast<std::size_t>(cause)];
}
Ns of(const profile::Causes& causes, profile::Cause cause) {
  return causes[static_cast<std::size_t>(cause)];
}

bool is_share(Ns part, Ns whole, double share) {
  return static_cast<double>(part.count()) >= share * static_cast<double>(whole.count());
}

struct Account {
  profile::Causes spent{}, critical{};
  Ns waiting{};
  bool whole = false;  // of the step, not of some of its modules
};

// What synchronisations drained is moved to them: for the verdict alone, evidence says what was.
profile::Causes starved(profile::Causes causes, Ns waiting) {
  const Ns drained = std::clamp(waiting - of(causes, profile::Cause::sync), Ns{}, of(causes, profile::Cause::launch));
  at(causes, profile::Cause::launch) -= drained;
  at(causes, profile::Cause::sync) += drained;
  return causes;
}

struct Candidate {
  std::string_view kind;
  Ns time{};
};

// The greatest, where it is at least `share` of the whole and leads.
std::string_view clear_winner(std::vector<Candidate> candidates, Ns whole, double share) {
  std::ranges::stable_sort(candidates, std::ranges::greater{}, &Candidate::time);
  const bool clear =
      candidates[0].time > Ns{} && is_share(candidates[0].time, whole, share) && is_share(candidates[0].time, candidates[1].time, kLead);
  return clear ? candidates[0].kind : "unclear";
}

std::string_view arithmetic_kind(const profile::Causes& causes) {
  const Ns compute = of(causes, profile::Cause::compute);
  const Ns memory = of(causes, profile::Cause::memory) + of(causes, profile::Cause::thin_products);
  if (is_share(compute, compute + memory, kPrevails)) return "compute";
  return is_share(memory, compute + memory, kPrevails) ? "memory" : "unclear";
}

std::vector<Candidate> work_of(const profile::Causes& causes) {
  return {
      {"copy", of(causes, profile::Cause::copy)},
      {"communication", of(causes, profile::Cause::communication)},
      {"arithmetic", of(causes, profile::Cause::compute) + of(causes, profile::Cause::memory) + of(causes, profile::Cause::thin_products)},
      {"unclear", of(causes, profile::Cause::queued) + of(causes, profile::Cause::other) + of(causes, profile::Cause::unrecorded)}};
}

std::vector<Candidate> host_causes(const profile::Causes& causes) {
  return {{"data", of(causes, profile::Cause::data)},
          {"sync", of(causes, profile::Cause::sync)},
          {"launch", of(causes, profile::Cause::launch)},
          {"unclear", of(causes, profile::Cause::host)}};
}

Ns total(const std::vector<Candidate>& candidates) {
  Ns sum{};
  for (const Candidate& each : candidates) sum += each.time;
  return sum;
}

std::string kind_of(const Account& account, bool has_device) {
  const profile::Causes& path = account.critical;
  const Ns host =
      of(path, profile::Cause::data) + of(path, profile::Cause::sync) + of(path, profile::Cause::launch) + of(path, profile::Cause::host);
  std::vector<Candidate> candidates = work_of(path);
  Ns whole = sum(path);
  double share = kMajor;
  if (!has_device) {
    const std::vector<Candidate> more = host_causes(path);
    candidates.insert(candidates.end(), more.begin(), more.end());
  } else if (host > sum(path) - host && !is_share(total(work_of(account.spent)), sum(account.spent), kFull)) {
    const profile::Causes idle = starved(account.spent, account.waiting);
    candidates = host_causes(idle);
    whole = total(candidates);
    // What the host waited for is told by the path: a synchronisation that only met a collective or a copy is not to blame.
    candidates.push_back({"copy", of(path, profile::Cause::copy)});
    candidates.push_back({"communication", of(path, profile::Cause::communication)});
    share = kMajorIdle;
  }
  const std::string_view winner = clear_winner(std::move(candidates), whole, share);
  return std::string(winner == "arithmetic" ? arithmetic_kind(path) : winner);
}

std::string stage_place(const profile::Profile& profile, attribution::Stage stage) {
  const auto at = std::ranges::find(profile.stage_sites, stage, &profile::StageSite::stage);
  return at == profile.stage_sites.end() ? std::string() : place_of(profile, *at);
}

std::vector<profile::ModuleId> roots(const profile::Profile& profile) {
  std::vector<profile::ModuleId> found;
  for (std::uint32_t module = 0; module < profile.modules.size(); ++module) {
    if (!profile.modules[module].parent.valid()) found.push_back(profile::ModuleId{module});
  }
  return found;
}

// From `among` down to the innermost module that still has half of the time.
std::string module_place(const profile::Profile& profile, std::vector<profile::ModuleId> among, profile::Cause cause, Ns time) {
  std::string place;
  while (!among.empty()) {
    const profile::ModuleId most = std::ranges::max(among, {}, [&](profile::ModuleId id) { return of(profile.at(id).spent, cause); });
    const profile::Module& module = profile.at(most);
    if (of(module.spent, cause) <= Ns{} || !is_share(of(module.spent, cause), time, kMostOf)) break;
    place = module.path.empty() ? module.class_name : module.path;
    among = module.children;
  }
  return place;
}

// Host code beside operators is the user's own, or what a line of it called.
std::string host_place(const profile::Profile& profile, bool whole) {
  const auto line = whole && !profile.guessed ? line_of_cause(profile, profile::Cause::host) : std::nullopt;
  if (!line) return {};
  const profile::SourceFile& file = profile.files[line->file.index];
  return profile::place_name(file.path.string(), file, line->line);
}

// What the verdict names comes first, though others may take more time: a device may be busy and yet wait for the host at every turn.
// A host that waits while the device works is no idle time: it has a row of its own.
std::vector<profile::Verdict::Evidence> evidence_of(const profile::Profile& profile, const Account& account,
                                                    const std::vector<profile::ModuleId>& among, std::string_view kind) {
  const profile::Causes& causes = account.spent;
  std::vector<profile::Cause> order;
  for (std::size_t i = 0; i < profile::kCauses; ++i) order.push_back(static_cast<profile::Cause>(i));
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](profile::Cause cause) { return std::pair(name(cause) == kind, of(causes, cause)); });
  std::vector<profile::Verdict::Evidence> evidence;
  for (const profile::Cause cause : order) {
    const Ns time = of(causes, cause);
    if (time <= Ns{} || !is_share(time, sum(causes), kSmallestEvidence)) continue;
    std::string where =
        cause == profile::Cause::data ? stage_place(profile, attribution::Stage::data) : module_place(profile, among, cause, time);
    if (cause == profile::Cause::host && where.empty()) where = host_place(profile, account.whole);
    if (account.whole && where.empty()) where = function_of_cause(profile, cause);
    evidence.push_back({std::string(words_of(cause, profile.has_device())), time, std::move(where)});
  }
  if (profile.has_device() && is_share(account.waiting, sum(causes), kSmallestEvidence) && account.waiting > Ns{}) {
    const auto place = kind == "sync" ? evidence.begin() : evidence.end();
    evidence.insert(place, {"host waits while the device works", account.waiting, ""});
  }
  return evidence;
}

Ns waiting_in(const profile::PerStep& steps, std::size_t step) {
  return step < steps.size() ? steps[step].waiting : Ns{};
}

Ns waiting_of_step(const profile::Profile& profile) {
  const auto at = std::ranges::find(profile.buckets, attribution::Bucket::waiting, &profile::BucketTimes::bucket);
  return at == profile.buckets.end() || profile.representative >= at->wall.size() ? Ns{} : at->wall[profile.representative];
}

profile::Verdict verdict_of(const profile::Profile& profile, const Account& account, const std::vector<profile::ModuleId>& among) {
  const bool device = profile.has_device();
  const std::string kind = kind_of(account, device);
  return {kind, evidence_of(profile, account, among, kind)};
}

}  // namespace

profile::Verdict judge(const profile::Profile& profile) {
  return verdict_of(profile, {profile.spent, profile.critical, waiting_of_step(profile), true}, roots(profile));
}

profile::Verdict judge(const profile::Profile& profile, std::span<const profile::ModuleId> modules) {
  Account account;
  std::vector<profile::ModuleId> inside;
  for (const profile::ModuleId id : modules) {
    const profile::Module& module = profile.at(id);
    add(account.spent, module.spent);
    add(account.critical, module.critical);
    account.waiting += waiting_in(module.forward, profile.representative) + waiting_in(module.backward, profile.representative);
    inside.insert(inside.end(), module.children.begin(), module.children.end());
  }
  return verdict_of(profile, account, inside);
}

std::string place_of(const profile::Profile& profile, const profile::StageSite& stage) {
  const profile::SourceFile& file = profile.files[stage.site.file.index];
  return profile::place_name(file.path.string(), file, stage.site.line);
}

}  // namespace hotlens::causes
